// NodePorts (Filter): the pod's host ports must be free on the node: same protocol and port clash
// if the ips are equal or either is 0.0.0.0. Source: kube-scheduler plugins/nodeports. State:
// node-dynamic. Events: an assigned pod deleted, a node added.
#pragma once

#include <memory>

#include "berth/sched/plugin.h"

namespace berth::sched {

inline constexpr std::string_view kNodePorts = "NodePorts";
inline constexpr std::string_view kReasonPorts =
    "node(s) didn't have free ports for the requested pod ports";

std::unique_ptr<Plugin> make_node_ports();

} // namespace berth::sched
