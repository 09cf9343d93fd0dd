// NodeVolumeLimits (PreFilter, Filter): the distinct volumes of a CSI driver attached to a node,
// those of its pods and of VolumeAttachments and the pod's own, must not exceed the driver's count
// in the node's CSINode; no count, no limit. In-tree disks count for the driver they are migrated
// to. Source: kube-scheduler plugins/nodevolumelimits (CSILimits). State: the node's pods, its
// CSINode and attachments, claims, volumes and classes. Events: a CSINode added or with a limit
// raised, an assigned pod with volumes deleted, a claim of the pod added, an attachment deleted.
#pragma once

#include <memory>

#include "berth/sched/plugin.h"

namespace berth::sched {

inline constexpr std::string_view kNodeVolumeLimits = "NodeVolumeLimits";
inline constexpr std::string_view kReasonMaxVolumes = "node(s) exceed max volume count";

std::unique_ptr<Plugin> make_node_volume_limits();

} // namespace berth::sched
