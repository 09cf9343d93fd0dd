// VolumeBinding (PreFilter, Filter, Reserve, PreBind): the pod's claims must have volumes that the
// node reaches. Bound claims: the volume's node affinity. Claims of a WaitForFirstConsumer class
// are given the smallest free volume that matches and is reached from the node, else one is
// provisioned, if the class can and allows the node and its driver, where it tells
// (CSIStorageCapacity), has room for it. Other unbound claims must be bound first.
// Reserve says which volumes are given and which claims are provisioned for the node
// (Reservation::volumes). Source: kube-scheduler plugins/volumebinding and component-helpers
// storage/volume. State: the node's labels; claims, volumes, classes. Events: a class added or its
// allowed topologies changed, a claim of the pod or any volume added or changed, a node added or
// relabelled, a CSINode added or its migrated plugins changed, a CSIDriver that tells no more what
// it can provision, a capacity added or grown.
#pragma once

#include <memory>

#include <boost/json/value.hpp>

#include "berth/base/result.h"
#include "berth/sched/plugin.h"

namespace berth::sched {

inline constexpr std::string_view kVolumeBinding = "VolumeBinding";
inline constexpr std::string_view kReasonVolumeAffinity =
    "node(s) didn't match PersistentVolume's node affinity";
inline constexpr std::string_view kReasonNoVolume =
    "node(s) didn't find available persistent volumes to bind";
inline constexpr std::string_view kReasonNoSpace = "node(s) did not have enough free storage";
inline constexpr std::string_view kReasonVolumeGone =
    "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)";
inline constexpr std::string_view kReasonUnboundImmediate =
    "pod has unbound immediate PersistentVolumeClaims";

/// How long a binding waits for its claims is the scheduler process's and fixed, so only that value
/// is accepted.
struct VolumeBindingArgs {
  static constexpr int kBindTimeoutSeconds = 600;
};
/// As KubeSchedulerConfiguration writes it. Errors name the field.
Result<VolumeBindingArgs> parse_volume_binding_args(const boost::json::value& args);

std::unique_ptr<Plugin> make_volume_binding();

} // namespace berth::sched
