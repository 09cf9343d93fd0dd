#include "berth/sched/plugins/gpu_share.h"

#include <algorithm>
#include <bit>

#include "berth/api/strict.h"

namespace berth::sched {
namespace {

constexpr std::uint64_t kTaken = 0;
constexpr std::uint64_t kMissing = 1;
constexpr std::uint64_t kModel = 2;

class GpuShareRun final : public Run {
 public:
  GpuShareRun(const PodPtr& pod, const ClusterState& state, PartChoice choice)
      : share_(pod->share), state_(&state), choice_(choice) {}

  Reach reach() const override { return Reach::Node; }

  Verdict filter(NodeId id) const override {
    const NodeInfo& node = state_->node(id);
    if (std::popcount(node.parts.all & ~node.gpus.unhealthy) < share_->gpus) {
      return Verdict::unresolvable(kMissing);
    }
    if (!share_->models.empty() &&
        std::ranges::find(share_->models, state_->gpu_models().name(node.parts.model)) ==
            share_->models.end()) {
      return Verdict::unresolvable(kModel);
    }
    const auto open = gpus_with_room(gpu_room(*state_, node), node.parts, *share_);
    return std::popcount(open) >= share_->gpus ? Verdict::feasible()
                                               : Verdict::unschedulable(kTaken);
  }

  std::vector<std::string> reasons(NodeId, Verdict verdict) const override {
    return {std::string(verdict.detail == kModel     ? kReasonGpuModel
                        : verdict.detail == kMissing ? kReasonPartsMissing
                                                     : kReasonPartsTaken)};
  }

  Status reserve(const PodInfo&, const ClusterState& state, Reservation& reservation) override {
    const NodeInfo& node = state.node(reservation.node);
    const GpuRoom room = gpu_room(state, node, reservation.slot); // the pod is on the node already
    const auto open = gpus_with_room(room, node.parts, *share_);
    if (std::popcount(open) < share_->gpus) {
      return Status::of(StatusCode::Unschedulable, std::string(kReasonPartsTaken));
    }
    reserve_parts(reservation, choose_parts(room, *share_, open, choice_));
    return Status::success();
  }

 private:
  std::shared_ptr<const model::GpuShare> share_;
  const ClusterState* state_;
  PartChoice choice_;
};

class GpuShare final : public Plugin {
 public:
  explicit GpuShare(GpuShareArgs args) : args_(args) {}

  std::string_view name() const override { return kGpuShare; }
  Points points() const override { return Point::Filter | Point::Reserve; }

  std::vector<EventInterest> events() const override {
    return {{.resource = EventResource::AssignedPod,
             .action = actions::kDelete | actions::kPodScaleDown},
            {.resource = EventResource::Node,
             .action = actions::kAdd | actions::kNodeAllocatable | actions::kNodeLabel |
                       actions::kNodeAnnotation}};
  }

  Hint hint(const PodInfo&, const ClusterEvent& event) const override {
    const bool no_gpus = event.resource == EventResource::AssignedPod && event.old_pod &&
                         event.old_pod->share == nullptr && event.old_pod->gpus == 0;
    return no_gpus ? Hint::Skip : Hint::Queue;
  }

  Prepared prepare(const PodPtr& pod, const ClusterState& state) const override {
    if (!pod->share_fault.empty()) {
      return {.status = Status::of(StatusCode::Unresolvable, pod->share_fault),
              .run = nullptr,
              .nodes = {}};
    }
    if (pod->share == nullptr) {
      return {.status = Status::skip(), .run = nullptr, .nodes = {}};
    }
    return {
        .status = {}, .run = std::make_unique<GpuShareRun>(pod, state, args_.choice), .nodes = {}};
  }

 private:
  GpuShareArgs args_;
};

} // namespace

void reserve_parts(Reservation& reservation, hardware::GpuMask gpus) {
  reservation.gpus = gpus;
  std::vector<int> indices;
  for (hardware::GpuMask rest = gpus; rest != 0; rest &= rest - 1) {
    indices.push_back(std::countr_zero(rest));
  }
  reservation.annotations.insert_or_assign(std::string(model::kGpuIndex),
                                           model::format_gpu_index(indices));
}

void decode(const api::Field& in, GpuShareArgs& out) {
  api::refuse_unknown(in, {"gpuSelMethod", "dimExtMethod", "normMethod"});
  std::string method;
  in.within("gpuSelMethod", [&](const api::Field& field) {
    decode(field, method);
    api::check_choice(field, method, {"best", "worst", "FGD", "FGDScore", "BidPrice", "random"});
  });
  out.choice = method == "worst" ? PartChoice::Emptiest : PartChoice::Fullest;
  std::string word;
  in.within("dimExtMethod", [&](const api::Field& field) {
    decode(field, word);
    api::check_choice(field, word, {"merge", "share"});
  });
  in.within("normMethod", [&](const api::Field& field) {
    decode(field, word);
    api::check_choice(field, word, {"max"});
  });
}

Result<GpuShareArgs> parse_gpu_share_args(const boost::json::value& args) {
  return api::decode_document<GpuShareArgs>(args);
}

std::unique_ptr<Plugin> make_gpu_share(GpuShareArgs args) {
  return std::make_unique<GpuShare>(args);
}

} // namespace berth::sched
