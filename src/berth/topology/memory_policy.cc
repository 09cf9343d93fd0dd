#include "berth/topology/memory_policy.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace berth::topology {
namespace {

constexpr const char* kMemory = "memory";

std::int64_t amount_of(const MemoryAmounts& amounts, const std::string& resource) {
  const auto it = amounts.find(resource);
  return it == amounts.end() ? 0 : it->second;
}

} // namespace

std::string_view to_string(MemoryPolicy policy) {
  return policy == MemoryPolicy::Static ? "Static" : "None";
}

Result<MemoryPolicy> parse_memory_policy(std::string_view text) {
  if (text == "None") {
    return MemoryPolicy::None;
  }
  if (text == "Static") {
    return MemoryPolicy::Static;
  }
  return fail(Code::Invalid,
              fmt::format("unknown policy: \"{}\"; None or Static is expected", text));
}

Result<void> check_memory_rules(const MemoryRules& rules, const Machine& machine,
                                std::int64_t kept_back) {
  if (rules.policy == MemoryPolicy::None) {
    return {};
  }
  std::int64_t total = 0;
  for (const auto& [id, amounts] : rules.reserved) {
    const auto node = std::ranges::find(machine.nodes, id, &MachineNuma::id);
    if (node == machine.nodes.end()) {
      return fail(Code::Invalid,
                  fmt::format("memory is reserved on a NUMA node that the machine does not have: "
                              "{}",
                              id));
    }
    for (const auto& [resource, bytes] : amounts) {
      const std::int64_t has = amount_of(node->memory, resource);
      if (bytes > has) {
        return fail(Code::Invalid, fmt::format("more {} is reserved on NUMA node {} than it has: "
                                               "{} of {} bytes",
                                               resource, id, bytes, has));
      }
    }
    total += amount_of(amounts, kMemory);
  }
  if (total != kept_back) {
    return fail(Code::Invalid,
                fmt::format("the total amount \"{}\" of type \"{}\" is not equal to the value "
                            "\"{}\" determined by Node Allocatable feature",
                            total, kMemory, kept_back));
  }
  return {};
}

std::map<int, MemoryAmounts> reserve_memory(const Machine& machine, std::int64_t total) {
  std::vector<const MachineNuma*> nodes;
  for (const MachineNuma& node : machine.nodes) {
    if (amount_of(node.memory, kMemory) > 0) {
      nodes.push_back(&node);
    }
  }
  std::map<int, MemoryAmounts> reserved;
  std::int64_t left = total;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    // Rounding goes to the last, so that the parts are the total.
    const auto others = static_cast<std::int64_t>(nodes.size() - i);
    const std::int64_t part = std::min(left / others, amount_of(nodes[i]->memory, kMemory));
    if (part > 0) {
      reserved[nodes[i]->id][kMemory] = part;
      left -= part;
    }
  }
  return reserved;
}

} // namespace berth::topology
