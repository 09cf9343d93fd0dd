// VolumeZone (PreFilter, Filter): a bound volume with zone or region labels is used on nodes whose
// labels say the same; a volume's label may list several values, joined by "__". Nodes without any
// such label pass. Source: kube-scheduler plugins/volumezone. State: the node's labels; claims,
// volumes, classes. Events: a class that waits for consumers added, a node added or relabelled, a
// claim of the pod added or changed, a volume added or with its zone labels changed.
#pragma once

#include <memory>

#include "berth/sched/plugin.h"

namespace berth::sched {

inline constexpr std::string_view kVolumeZone = "VolumeZone";
inline constexpr std::string_view kReasonVolumeZone = "node(s) had no available volume zone";

std::unique_ptr<Plugin> make_volume_zone();

} // namespace berth::sched
