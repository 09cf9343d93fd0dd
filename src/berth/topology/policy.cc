#include "berth/topology/policy.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "berth/topology/hint_merge.h"
#include "berth/topology/option_texts.h"

namespace berth::topology {
namespace {

constexpr int kFewestAllowable = 8;
constexpr std::string_view kClosest = "prefer-closest-numa-nodes";
constexpr std::string_view kMostNodes = "max-allowable-numa-nodes";

constexpr std::array<std::pair<Policy, std::string_view>, 4> kPolicies{
    {{Policy::None, "none"},
     {Policy::BestEffort, "best-effort"},
     {Policy::Restricted, "restricted"},
     {Policy::SingleNumaNode, "single-numa-node"}}};

Result<int> parse_most_nodes(const std::string& text) {
  int value = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec != std::errc() || read.ptr != end) {
    return fail(
        Code::Invalid,
        fmt::format("unable to convert policy option to integer \"{}\": \"{}\"", kMostNodes, text));
  }
  if (value < kFewestAllowable) {
    return fail(Code::Invalid, fmt::format("the minimum value of \"{}\" should not be less than {}",
                                           kMostNodes, kFewestAllowable));
  }
  return value;
}

// single-numa-node looks at nothing but preferred hints of one node, or of none in particular.
std::vector<std::vector<Hint>> only_single_nodes(std::vector<std::vector<Hint>> lists) {
  for (std::vector<Hint>& list : lists) {
    std::erase_if(list, [](const Hint& hint) {
      return !hint.preferred || (hint.affinity && hint.affinity->count() != 1);
    });
  }
  return lists;
}

} // namespace

std::string_view to_string(Policy policy) {
  return std::ranges::find(kPolicies, policy, &std::pair<Policy, std::string_view>::first)->second;
}

Result<Policy> parse_policy(std::string_view text) {
  const auto* found =
      std::ranges::find(kPolicies, text, &std::pair<Policy, std::string_view>::second);
  if (found == kPolicies.end()) {
    return fail(Code::Invalid,
                fmt::format("unknown policy: \"{}\"; one of none, best-effort, restricted, "
                            "single-numa-node is expected",
                            text));
  }
  return found->first;
}

std::string_view to_string(Scope scope) {
  return scope == Scope::Pod ? "pod" : "container";
}

Result<Scope> parse_scope(std::string_view text) {
  if (text == "container") {
    return Scope::Container;
  }
  if (text == "pod") {
    return Scope::Pod;
  }
  return fail(Code::Invalid,
              fmt::format("unknown scope: \"{}\"; container or pod is expected", text));
}

Result<PolicyOptions> parse_policy_options(const OptionTexts& texts) {
  PolicyOptions options;
  for (const auto& [name, text] : texts) {
    if (name == kClosest) {
      BERTH_TRY(options.prefer_closest_numa_nodes, parse_flag(name, text));
    } else if (name == kMostNodes) {
      BERTH_TRY(options.max_allowable_numa_nodes, parse_most_nodes(text));
    } else {
      return fail(Code::Invalid,
                  fmt::format("unknown Topology Manager Policy option: \"{}\"; {} and {} are known",
                              name, kClosest, kMostNodes));
    }
  }
  return options;
}

Result<void> check_machine(const AlignmentRules& rules, const Machine& machine) {
  const int most = rules.options.max_allowable_numa_nodes;
  if (rules.policy != Policy::None && static_cast<int>(machine.nodes.size()) > most) {
    return fail(Code::Invalid, fmt::format("unsupported on machines with more than {} NUMA Nodes: "
                                           "this one has {}; try option {}",
                                           most, machine.nodes.size(), kMostNodes));
  }
  return {};
}

Alignment align(const std::vector<std::vector<ResourceHints>>& providers,
                const AlignmentRules& rules, const Machine& machine) {
  if (rules.policy == Policy::None) {
    return {};
  }
  const bool single = rules.policy == Policy::SingleNumaNode;
  const bool closest = rules.options.prefer_closest_numa_nodes && !single;
  const MergeRules merge{.all = machine.all_nodes(),
                         .nearness = closest ? MergeRules::Nearness::Counts
                                             : MergeRules::Nearness::Ignored};
  auto lists = lists_of(providers);
  if (single) {
    lists = only_single_nodes(std::move(lists));
  }
  Hint best = merge_hints(lists, merge, machine);
  if (single && best.affinity == merge.all) {
    best.affinity.reset();
  }
  return {.admitted = best.preferred || rules.policy == Policy::BestEffort, .hint = best};
}

std::string misalignment_message(Scope scope) {
  return fmt::format("{}Resources cannot be allocated with Topology locality",
                     scope == Scope::Pod ? "Pod Scope " : "");
}

} // namespace berth::topology
