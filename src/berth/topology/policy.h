// The topology manager's policies: whether a pod is let in with the hint that was merged, and which
// hint that is. Names, options and error texts are the kubelet's.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/result.h"
#include "berth/topology/hint.h"
#include "berth/topology/machine.h"

namespace berth::topology {

enum class Policy {
  None,
  BestEffort,     ///< the best hint, whatever it is
  Restricted,     ///< only a preferred hint
  SingleNumaNode, ///< only one node
};
std::string_view to_string(Policy policy);
Result<Policy> parse_policy(std::string_view text);

enum class Scope { Container, Pod };
std::string_view to_string(Scope scope);
Result<Scope> parse_scope(std::string_view text);

/// Option name to value, as in KubeletConfiguration's topologyManagerPolicyOptions.
using OptionTexts = std::map<std::string, std::string>;

struct PolicyOptions {
  bool prefer_closest_numa_nodes = false;
  int max_allowable_numa_nodes = 8;

  bool operator==(const PolicyOptions&) const = default;
};
Result<PolicyOptions> parse_policy_options(const OptionTexts& texts);

/// What the manager does on a machine.
struct AlignmentRules {
  Policy policy = Policy::None;
  Scope scope = Scope::Container;
  PolicyOptions options;
};
/// Error Invalid: more NUMA nodes than the options allow.
Result<void> check_machine(const AlignmentRules& rules, const Machine& machine);

struct Alignment {
  bool admitted = true;
  Hint hint; ///< where resources are to come from; no mask: anywhere
};
/// `providers` in their order: devices, CPUs, memory.
Alignment align(const std::vector<std::vector<ResourceHints>>& providers,
                const AlignmentRules& rules, const Machine& machine);

/// Reason of a pod that is turned away.
inline constexpr std::string_view kTopologyAffinityError = "TopologyAffinityError";
/// "Resources cannot be allocated with Topology locality"; scope pod says so first.
std::string misalignment_message(Scope scope);

} // namespace berth::topology
