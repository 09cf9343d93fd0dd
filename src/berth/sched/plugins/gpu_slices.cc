#include "berth/sched/plugins/gpu_slices.h"

#include <algorithm>
#include <utility>

#include "berth/sched/slice_choice.h"

namespace berth::sched {
namespace {

class GpuSlicesRun final : public Run {
 public:
  Reach reach() const override { return Reach::Node; }

  Status reserve(const PodInfo& pod, const ClusterState& state, Reservation& reservation) override {
    const NodeInfo& node = state.node(reservation.node);
    for (const ResourceSlices& slices : node.slices) {
      const std::int64_t count = pod.request(slices.resource);
      if (count == 0) {
        continue;
      }
      // The pod is on the node already, with nothing known of its choice.
      if (auto chosen = choose_slices(node, slices, count, count)) {
        reservation.slices.insert_or_assign(
            std::string(state.resource_names().name(slices.resource)), *std::move(chosen));
      }
    }
    return Status::success();
  }
};

class GpuSlices final : public Plugin {
 public:
  std::string_view name() const override { return kGpuSlices; }
  Points points() const override { return Points{0} | Point::Reserve; }

  Prepared prepare(const PodPtr& pod, const ClusterState&) const override {
    // Devices are extended resources, and nvidia.com/gpu.
    const bool asks = pod->gpus > 0 || std::ranges::any_of(pod->requests, [](const auto& each) {
                        return each.first.index() >= kInlineResources;
                      });
    return {.status = Status::skip(),
            .run = asks ? std::make_unique<GpuSlicesRun>() : nullptr,
            .nodes = {}};
  }
};

} // namespace

std::unique_ptr<Plugin> make_gpu_slices() {
  return std::make_unique<GpuSlices>();
}

} // namespace berth::sched
