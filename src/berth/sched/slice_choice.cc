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
    }
    if (kind_ == model::SliceKind::Mig) {
      for (const ResourceSlices& other : node.slices) {
        for (std::size_t gpu = 0; other.resource != slices.resource && gpu < kMaxGpus; ++gpu) {
          taken_[gpu] += other.kind == model::SliceKind::Mig ? other.taken[gpu] : 0;
        }
      }
    }
  }

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
};

} // namespace

std::optional<model::CountByGpu> choose_slices(const NodeInfo& node, const ResourceSlices& slices,
                                               std::int64_t count, std::int64_t own) {
  Chooser chooser(node, slices);
  Counts presumed{};
  chooser.take(std::max<std::int64_t>(0, slices.unplaced - own), presumed);
  Counts picked{};
  if (!chooser.take(count, picked)) {
    return std::nullopt;
  }
  model::CountByGpu by_gpu;
  for (std::size_t gpu = 0; gpu < kMaxGpus; ++gpu) {
    if (picked[gpu] > 0) {
      by_gpu.emplace(static_cast<int>(gpu), static_cast<int>(picked[gpu]));
    }
  }
  return by_gpu;
}

} // namespace berth::sched
