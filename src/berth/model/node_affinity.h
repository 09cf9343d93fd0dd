// Whether a node is one that a pod asks for.
#pragma once

#include "berth/model/node.h"
#include "berth/model/pod.h"

namespace berth::model {

/// spec.nodeSelector AND the required terms of node affinity, as the scheduler, kubelet and daemon
/// sets use it. Source: component-helpers scheduling/corev1/nodeaffinity.
bool matches_required_affinity(const PodSpec& spec, const Node& node);

} // namespace berth::model
