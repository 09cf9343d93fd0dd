#include "berth/sched/slice_choice.h"

#include <algorithm>
#include <tuple>

namespace berth::sched {
namespace {

using Counts = std::array<std::int64_t, kMaxGpus>;

class Chooser {
 public:
  Chooser(const NodeInfo& node, const ResourceSlices& slices) : kind_(slices.kind) {
    for (std::size_t gpu = 0; gpu < kMaxGpus; ++gpu) {
      left_[gpu] = std::max<std::int64_t>(0, slices.there[gpu] - slices.taken[gpu]);
      taken_[gpu] = slices.taken[gpu];
      there_[gpu] = slices.there[gpu];
    }
    if (kind_ == model::SliceKind::Mig) {
      for (const ResourceSlices& other : node.slices) {
        for (std::size_t gpu = 0; other.resource != slices.resource && gpu < kMaxGpus; ++gpu) {
          const bool counts = other.kind == model::SliceKind::Mig;
          taken_[gpu] += counts ? other.taken[gpu] : 0;
          there_[gpu] += counts ? other.there[gpu] : 0;
        }
      }
    }
  }

  /// Of all devices that count.
  const Counts& taken() const { return taken_; }
  const Counts& there() const { return there_; }

  /// False if there are not as many left; what there was is then taken.
  bool take(std::int64_t count, Counts& picked) {
    for (; count > 0; --count) {
      std::size_t best = kMaxGpus;
      for (std::size_t gpu = 0; gpu < kMaxGpus; ++gpu) {
        if (left_[gpu] > 0 && (best == kMaxGpus || rank(gpu, picked) < rank(best, picked))) {
          best = gpu;
        }
      }
      if (best == kMaxGpus) {
        return false;
      }
      --left_[best];
      ++taken_[best];
      ++picked[best];
    }
    return true;
  }

 private:
  std::tuple<std::int64_t, std::int64_t> rank(std::size_t gpu, const Counts& picked) const {
    return kind_ == model::SliceKind::Mig ? std::tuple(-taken_[gpu], left_[gpu])
                                          : std::tuple(taken_[gpu], picked[gpu]);
  }

  model::SliceKind kind_;
  Counts left_{};
  Counts taken_{};
  Counts there_{};
};

} // namespace

std::optional<SliceChoice> choose_slices(const NodeInfo& node, const ResourceSlices& slices,
                                         std::int64_t count, std::int64_t own) {
  constexpr std::int64_t kPercent = 100;
  Chooser chooser(node, slices);
  Counts presumed{};
  chooser.take(std::max<std::int64_t>(0, slices.unplaced - own), presumed);
  const Counts before = chooser.taken();
  Counts picked{};
  if (!chooser.take(count, picked)) {
    return std::nullopt;
  }
  SliceChoice choice;
  for (std::size_t gpu = 0; gpu < kMaxGpus; ++gpu) {
    choice.node_in_use = choice.node_in_use || before[gpu] > 0;
    if (picked[gpu] == 0) {
      continue;
    }
    choice.by_gpu.emplace(static_cast<int>(gpu), static_cast<int>(picked[gpu]));
    choice.in_use += before[gpu] > 0 ? picked[gpu] : 0;
    choice.fill += picked[gpu] * before[gpu] * kPercent / chooser.there()[gpu];
  }
  return choice;
}

} // namespace berth::sched
