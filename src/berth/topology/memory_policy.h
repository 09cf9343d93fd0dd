// The memory manager's policy and the memory of each NUMA node that is nobody's. Names and error
// texts are the kubelet's.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "berth/base/result.h"
#include "berth/topology/machine.h"
#include "berth/topology/pod_ask.h"

namespace berth::topology {

enum class MemoryPolicy { None, Static };
std::string_view to_string(MemoryPolicy policy);
Result<MemoryPolicy> parse_memory_policy(std::string_view text);

struct MemoryRules {
  MemoryPolicy policy = MemoryPolicy::None;
  std::map<int, MemoryAmounts> reserved; ///< by NUMA node
};

/// Error Invalid: a node or a kind of memory that the machine lacks, more than it has, or another
/// total of "memory" than the node keeps back.
Result<void> check_memory_rules(const MemoryRules& rules, const Machine& machine,
                                std::int64_t kept_back);

/// What to reserve where only the total is known: equal parts of the nodes that have memory.
std::map<int, MemoryAmounts> reserve_memory(const Machine& machine, std::int64_t total);

} // namespace berth::topology
