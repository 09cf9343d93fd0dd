// NodeName (Filter): a pod that names its node fits only there. Source: kube-scheduler
// plugins/nodename. State: node-static. Events: node added.
#pragma once

#include <memory>

#include "berth/sched/plugin.h"

namespace berth::sched {

inline constexpr std::string_view kNodeName = "NodeName";
inline constexpr std::string_view kReasonNodeName = "node(s) didn't match the requested node name";

std::unique_ptr<Plugin> make_node_name();

} // namespace berth::sched
