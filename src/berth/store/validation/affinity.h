// Affinity, spread and node selection of a pod. Source: kubernetes/pkg/apis/core/validation
// validateAffinity, validateTopologySpreadConstraints.
#pragma once

#include "berth/store/validation/judged.h"

namespace berth::store {

/// `spec`.affinity.
void check_affinity(const Judged& spec);
/// `spec`.topologySpreadConstraints.
void check_spread(const Judged& spec);
/// v1.NodeSelector: terms of expressions over labels and fields; what a volume or a slice may name
/// too.
void check_node_selector(const Judged& selector);

} // namespace berth::store
