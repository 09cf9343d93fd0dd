#include "berth/inventory/simulated_mig.h"

#include <array>

#include <fmt/format.h>

#include "berth/hardware/identity.h"
#include "berth/hardware/mig/layout.h"

namespace berth::inventory {
namespace {

constexpr int kHopper = 9;

int multiprocessors(int compute_major, int slices) {
  if (compute_major < kHopper) {
    return slices * 14;
  }
  // Three and seven slices get what is left over.
  return slices == 3 ? 60 : slices == 7 ? 132 : slices * 16;
}

int decoders(int compute_major, int slices) {
  constexpr std::array<int, 8> kHopperDecoders{0, 1, 2, 3, 4, 4, 4, 7};
  constexpr std::array<int, 8> kAmpereDecoders{0, 0, 1, 2, 2, 2, 2, 5};
  const auto at = static_cast<std::size_t>(slices) % kHopperDecoders.size();
  return compute_major < kHopper ? kAmpereDecoders[at] : kHopperDecoders[at];
}

} // namespace

Result<std::vector<MigDevice>> cut_gpu(const GpuFacts& gpu, std::string_view wishes,
                                       std::uint64_t generation) {
  const hardware::MigCard* card = hardware::mig_card(gpu.info.product);
  if (!gpu.mig_capable || card == nullptr) {
    return fail(Code::Invalid,
                fmt::format("the GPU cannot be cut into MIG instances: {}", gpu.info.product));
  }
  std::vector<MigDevice> devices;
  if (wishes.empty()) {
    return devices;
  }
  BERTH_TRY(const auto wanted, hardware::parse_mig_wishes(wishes, *card));
  const auto layout = hardware::lay_out_card(*card, wanted);
  if (!layout) {
    return fail(Code::Invalid,
                fmt::format("these instances do not fit on one {}: {}", card->name, wishes));
  }
  for (const hardware::MigPlace& place : *layout) {
    const int slices = place.profile->compute_slices;
    const auto number = static_cast<std::uint64_t>(devices.size());
    constexpr std::uint64_t kPerCut = 64;
    devices.push_back(
        {.uuid = "MIG-" + hardware::stable_uuid(gpu.info.uuid, generation * kPerCut + number),
         .profile = place.profile->name,
         .gpu_instance = static_cast<int>(number) + 1,
         .compute_instance = 0,
         .start = place.start,
         .size = place.profile->memory_slices,
         .memory_mib = gpu.info.memory_mib * place.profile->memory_slices / card->memory_slices,
         .multiprocessors = multiprocessors(gpu.compute_major, slices),
         .gpu_slices = slices,
         .compute_slices = slices,
         .copy_engines = slices,
         .decoders = decoders(gpu.compute_major, slices)});
  }
  return devices;
}

} // namespace berth::inventory
