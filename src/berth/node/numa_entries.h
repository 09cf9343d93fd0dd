// How CPUs and memory that containers have of their own are written down: in the checkpoint, and at
// the container itself, which outlives a lost checkpoint.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/fwd.hpp>

#include "berth/api/json.h"
#include "berth/base/result.h"
#include "berth/topology/cpu_ledger.h"
#include "berth/topology/memory_ledger.h"

namespace berth::node {

boost::json::array write_cpu_entries(const std::vector<topology::CpuAssignment>& assignments);
boost::json::array write_memory_entries(const std::vector<topology::MemoryAssignment>& assignments);
/// Error Invalid for anything that the two above did not make.
Result<std::vector<topology::CpuAssignment>> read_cpu_entries(const api::json::value& list);
Result<std::vector<topology::MemoryAssignment>> read_memory_entries(const api::json::value& list);

/// Container annotations: CPUs of its own, "1-2,9-10", and memory on nodes,
/// "0-1 hugepages-2Mi=8 memory=1073741824".
inline constexpr std::string_view kCpusAnnotation = "berth.dev/cpus";
inline constexpr std::string_view kMemoryAnnotation = "berth.dev/memory";
std::string format_memory(const topology::MemoryAssignment& assignment);
/// Without the pod's and the container's names; none for any other text.
std::optional<topology::MemoryAssignment> parse_memory(std::string_view text);

} // namespace berth::node
