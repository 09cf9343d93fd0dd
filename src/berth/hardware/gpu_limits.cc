#include "berth/hardware/gpu_limits.h"

#include <algorithm>
#include <array>

namespace berth::hardware {
namespace {

struct Known {
  std::string_view part; ///< of the product's name; the first that is in it counts
  GpuLimits limits;
};

// Forms of a model before the model alone.
constexpr std::array<Known, 22> kKnown{{{"GB300", {140, 1400, 2062, 3996, true}},
                                        {"GB200", {130, 1200, 2062, 3996, true}},
                                        {"B300", {140, 1400, 2032, 3996, true}},
                                        {"B200", {130, 1000, 1965, 3996, true}},
                                        {"RTX-PRO-6000", {30, 600, 2617, 12481, false}},
                                        {"GH200", {100, 700, 1980, 2619, true}},
                                        {"H200-NVL", {75, 600, 1785, 3201, true}},
                                        {"H200", {75, 700, 1980, 3201, true}},
                                        {"H100-NVL", {60, 400, 1785, 2619, true}},
                                        {"H100-PCIe", {50, 350, 1755, 1593, true}},
                                        {"H100", {70, 700, 1980, 2619, true}},
                                        {"H800", {70, 700, 1980, 2619, true}},
                                        {"H20", {70, 500, 1980, 2619, true}},
                                        {"A100-SXM4-40GB", {50, 400, 1410, 1215, true}},
                                        {"A100-PCIE-40GB", {40, 250, 1410, 1215, true}},
                                        {"A100", {60, 400, 1410, 1593, true}},
                                        {"A800", {60, 400, 1410, 1593, true}},
                                        {"L40S", {35, 350, 2520, 9001, false}},
                                        {"A10G", {20, 300, 1710, 6251, false}},
                                        {"V100", {40, 300, 1530, 877, true}},
                                        {"L4", {16, 72, 2040, 6251, false}},
                                        {"T4", {10, 70, 1590, 5001, false}}}};
constexpr GpuLimits kMiddling{30, 300, 1700, 6251, false};

} // namespace

GpuLimits gpu_limits(std::string_view product) {
  const auto* const found = std::ranges::find_if(kKnown, [&](const Known& known) {
    return product.find(known.part) != std::string_view::npos;
  });
  return found == kKnown.end() ? kMiddling : found->limits;
}

} // namespace berth::hardware
