// What GPUs of a node are counted in.
#pragma once

#include <cstdint>

namespace berth::model {

/// GPUs of one node that can be told apart: indices 0 to 31, the bits of hardware::GpuMask. Those
/// beyond are counted, and never chosen.
inline constexpr int kMaxGpus = 32;

/// Thousandths of a whole GPU.
inline constexpr std::int64_t kWholeGpuMilli = 1000;

} // namespace berth::model
