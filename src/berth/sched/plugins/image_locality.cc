#include "berth/sched/plugins/image_locality.h"

#include <algorithm>

namespace berth::sched {
namespace {

constexpr std::int64_t kMiB = 1024 * 1024;
constexpr std::int64_t kMinThreshold = 23 * kMiB;
constexpr std::int64_t kMaxPerContainer = 1000 * kMiB;

class ImageRun final : public Run {
 public:
  ImageRun(const PodInfo& pod, const ClusterState& state)
      : state_(&state), node_set_(state.node_set_version()), images_(state.image_version()),
        max_threshold_(kMaxPerContainer * pod.image_containers) {
    const auto nodes = static_cast<double>(state.nodes().size());
    for (const std::string& reference : pod.images) {
      if (const auto image = state.find_image(reference)) {
        // float64 as in kube-scheduler: first the share, then the product, truncated.
        const double share = static_cast<double>(image->nodes) / nodes;
        parts_.push_back(
            {.image = image->id,
             .worth = static_cast<std::int64_t>(static_cast<double>(image->size) * share)});
      }
    }
  }

  /// What an image is worth depends on how many nodes have it, of how many.
  Reach reach() const override {
    const bool same = images_ == state_->image_version() &&
                      (parts_.empty() || node_set_ == state_->node_set_version());
    return same ? Reach::Node : Reach::Cluster;
  }
  Grading grading() const override { return Grading::Absolute; }

  std::int64_t score(NodeId id) const override {
    if (parts_.empty()) {
      return 0;
    }
    const auto& images = state_->node(id).images;
    std::int64_t sum = 0;
    for (const Part& part : parts_) {
      sum += std::ranges::binary_search(images, part.image) ? part.worth : 0;
    }
    sum = std::clamp(sum, kMinThreshold, std::max(kMinThreshold, max_threshold_));
    return max_threshold_ <= kMinThreshold
               ? 0
               : kMaxNodeScore * (sum - kMinThreshold) / (max_threshold_ - kMinThreshold);
  }

 private:
  struct Part {
    ImageId image;
    std::int64_t worth = 0;
  };
  const ClusterState* state_;
  std::uint64_t node_set_; // versions at the time of preparing
  std::uint64_t images_;
  std::int64_t max_threshold_;
  std::vector<Part> parts_;
};

class ImageLocality final : public Plugin {
 public:
  std::string_view name() const override { return kImageLocality; }
  Points points() const override { return static_cast<Points>(Point::Score); }
  Prepared prepare(const PodPtr& pod, const ClusterState& state) const override {
    return {.status = {}, .run = std::make_unique<ImageRun>(*pod, state), .nodes = {}};
  }
};

} // namespace

std::unique_ptr<Plugin> make_image_locality() {
  return std::make_unique<ImageLocality>();
}

} // namespace berth::sched
