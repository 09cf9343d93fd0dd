#include "berth/sched/plugins/gpu_slices.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "berth/api/strict.h"
#include "berth/sched/cluster_state.h"
#include "berth/sched/slice_choice.h"

namespace berth::sched {
namespace {

bool asks_for_slices(const PodInfo& pod, const ClusterState& state) {
  return (pod.gpus > 0 && state.has_slices(kGpu)) ||
         std::ranges::any_of(pod.requests, [&](const auto& each) {
           return each.second > 0 && state.has_slices(each.first);
         });
}

class GpuSlicesRun final : public Run {
 public:
  GpuSlicesRun(PodPtr pod, const ClusterState& state, SliceScoring scoring)
      : pod_(std::move(pod)), state_(&state), scoring_(scoring),
        asks_(asks_for_slices(*pod_, state)) {}

  Reach reach() const override {
    return asks_for_slices(*pod_, *state_) == asks_ ? Reach::Node : Reach::Cluster;
  }
  Grading grading() const override { return asks_ ? Grading::Absolute : Grading::None; }
  Status pre_score(std::span<const NodeId>) override {
    return asks_ ? Status::success() : Status::skip();
  }

  std::int64_t score(NodeId id) const override {
    constexpr std::int64_t kInUse = 50;
    constexpr std::int64_t kFree = 25;
    const NodeInfo& node = state_->node(id);
    std::int64_t devices = 0;
    std::int64_t sum = 0;
    for (const ResourceSlices& slices : node.slices) {
      const std::int64_t count = pod_->request(slices.resource);
      const auto choice = count > 0 ? choose_slices(node, slices, count) : std::nullopt;
      if (choice) {
        devices += count;
        sum += choice->in_use * kInUse + choice->fill / 2 +
               (choice->node_in_use ? (count - choice->in_use) * kFree : 0);
      }
    }
    if (devices == 0) {
      return 0;
    }
    const std::int64_t packed = std::min(sum / devices, kMaxNodeScore);
    return scoring_ == SliceScoring::MostAllocated ? packed : kMaxNodeScore - packed;
  }

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
            std::string(state.resource_names().name(slices.resource)), std::move(chosen->by_gpu));
      }
    }
    return Status::success();
  }

 private:
  PodPtr pod_;
  const ClusterState* state_;
  SliceScoring scoring_;
  bool asks_;
};

class GpuSlices final : public Plugin {
 public:
  explicit GpuSlices(GpuSlicesArgs args) : args_(args) {}

  std::string_view name() const override { return kGpuSlices; }
  Points points() const override { return Point::Score | Point::Reserve; }

  Prepared prepare(const PodPtr& pod, const ClusterState& state) const override {
    // Devices are extended resources, and nvidia.com/gpu.
    const bool asks = pod->gpus > 0 || std::ranges::any_of(pod->requests, [](const auto& each) {
                        return each.first.index() >= kInlineResources;
                      });
    return {.status = Status::skip(),
            .run = asks ? std::make_unique<GpuSlicesRun>(pod, state, args_.scoring) : nullptr,
            .nodes = {}};
  }

 private:
  GpuSlicesArgs args_;
};

} // namespace

void decode(const api::Field& in, GpuSlicesArgs& out) {
  api::refuse_unknown(in, {"scoringStrategy"});
  in.within("scoringStrategy", [&](const api::Field& strategy) {
    api::refuse_unknown(strategy, {"type"});
    strategy.within("type", [&](const api::Field& field) {
      std::string type;
      decode(field, type);
      api::check_choice(field, type, {"MostAllocated", "LeastAllocated"});
      out.scoring =
          type == "LeastAllocated" ? SliceScoring::LeastAllocated : SliceScoring::MostAllocated;
    });
  });
}

Result<GpuSlicesArgs> parse_gpu_slices_args(const boost::json::value& args) {
  return api::decode_document<GpuSlicesArgs>(args);
}

std::unique_ptr<Plugin> make_gpu_slices(GpuSlicesArgs args) {
  return std::make_unique<GpuSlices>(args);
}

} // namespace berth::sched
