// VolumeRestrictions (PreFilter, Filter): a disk that a pod names directly (GCE PD, EBS, iSCSI,
// Ceph RBD) can be mounted once on a node, unless every mount is read-only; a claim of access mode
// ReadWriteOncePod serves one pod of the cluster. Source: kube-scheduler
// plugins/volumerestrictions. State: the node's pods for disks; claims and their users anywhere.
// Events: an assigned pod deleted that shares a disk or claim, a node added, a claim of the pod
// added.
#pragma once

#include <memory>

#include "berth/sched/plugin.h"

namespace berth::sched {

inline constexpr std::string_view kVolumeRestrictions = "VolumeRestrictions";
inline constexpr std::string_view kReasonDiskConflict = "node(s) had no available disk";
inline constexpr std::string_view kReasonReadWriteOncePod =
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already "
    "in-use by another pod";

std::unique_ptr<Plugin> make_volume_restrictions();

} // namespace berth::sched
