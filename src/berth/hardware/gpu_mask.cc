#include "berth/hardware/gpu_mask.h"

#include <bit>
#include <charconv>

#include "berth/model/gpu_units.h"

namespace berth::hardware {

static_assert(sizeof(GpuMask) * 8 == model::kMaxGpus);

std::optional<GpuMask> parse_gpu_indices(std::string_view text) {
  GpuMask mask = 0;
  if (text.empty()) {
    return mask;
  }
  while (true) {
    unsigned index = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
    const auto digits = static_cast<std::size_t>(end - text.data());
    const bool padded = digits > 1 && text.front() == '0';
    if (error != std::errc{} || padded || index >= model::kMaxGpus || (mask >> index & 1) != 0) {
      return std::nullopt;
    }
    mask |= GpuMask{1} << index;
    text.remove_prefix(digits);
    if (text.empty()) {
      return mask;
    }
    if (text.front() != ',') {
      return std::nullopt;
    }
    text.remove_prefix(1);
  }
}

std::string format_gpu_indices(GpuMask mask) {
  std::string text;
  for (GpuMask rest = mask; rest != 0; rest &= rest - 1) {
    const int index = std::countr_zero(rest);
    if (!text.empty()) {
      text += ',';
    }
    if (index >= 10) {
      text += static_cast<char>('0' + index / 10);
    }
    text += static_cast<char>('0' + index % 10);
  }
  return text;
}

} // namespace berth::hardware
