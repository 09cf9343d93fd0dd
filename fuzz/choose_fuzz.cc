// Which GPUs of a machine of the catalogue: bytes say the platform, what is free, how many, which
// must be among them. The answer is a set that was asked for, and stays the best when less is free.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "berth/base/assert.h"
#include "berth/hardware/choose.h"
#include "berth/hardware/platform.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth::hardware;
  if (size < 7) {
    return 0;
  }
  static const std::vector<std::string> kNames = Catalogue::builtin().names();
  const Platform& platform = *Catalogue::builtin().find(kNames[data[0] % kNames.size()]);
  const GpuMask all =
      platform.gpus.size() >= 32 ? ~GpuMask{0} : (GpuMask{1} << platform.gpus.size()) - 1;
  const GpuMask free = (data[1] | GpuMask{data[2]} << 8) & all;
  const GpuMask required = free & (data[3] | GpuMask{data[4]} << 8);
  const int k = data[5] % 18 - 1;
  const auto policy = static_cast<ChoicePolicy>(data[6] % 3);
  const auto chosen = choose_gpus(platform, free, k, policy, required);
  const bool possible = k >= 1 && k <= std::popcount(free) && k >= std::popcount(required);
  BERTH_ASSERT(chosen.has_value() == possible, std::to_string(k));
  if (!chosen) {
    return 0;
  }
  BERTH_ASSERT((*chosen & ~free) == 0 && (required & ~*chosen) == 0, std::to_string(*chosen));
  BERTH_ASSERT(std::popcount(*chosen) == k, std::to_string(*chosen));
  // To demand what was chosen changes nothing: nothing better contains it.
  BERTH_ASSERT(choose_gpus(platform, free, k, policy, *chosen) == chosen, std::to_string(*chosen));
  BERTH_ASSERT(choose_gpus(platform, free, k, policy, required) == chosen, "it is not a function");
  return 0;
}
