// A set of a node's GPUs, and its text form in annotations and command lines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace berth::hardware {

/// A set of a node's GPUs: bit i stands for GPU index i.
using GpuMask = std::uint32_t;

/// "0,1,4" <-> mask, the empty set is ""; nullopt on anything else, a repeated index or one
/// above 31.
std::optional<GpuMask> parse_gpu_indices(std::string_view text);
/// Ascending.
std::string format_gpu_indices(GpuMask mask);

} // namespace berth::hardware
