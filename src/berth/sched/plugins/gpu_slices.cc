#include "berth/sched/plugins/gpu_slices.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include <fmt/format.h>

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

/// Each is a bit of a verdict's detail. What is beyond them is left to the node.
constexpr std::size_t kMostAskedTwice = 64;

/// Extended resources of which one container of the pod, of whatever sort, asks for more than one;
/// sorted by id.
std::vector<ResourceId> asked_twice(const PodInfo& pod, const ClusterState& state) {
  std::vector<ResourceId> asked;
  const auto look = [&](const std::vector<model::Container>& containers) {
    for (const model::Container& container : containers) {
      // Requests of devices equal their limits, and either may be all that is given.
      for (const auto* list : {&container.resources.requests, &container.resources.limits}) {
        for (const auto& [name, amount] : *list) {
          const auto id = amount.value() > 1 ? state.resource_names().find(name) : std::nullopt;
          if (id && is_extended_resource(name)) {
            asked.push_back(*id);
          }
        }
      }
    }
  };
  look(pod.pod->spec.init_containers);
  look(pod.pod->spec.containers);
  std::ranges::sort(asked);
  const auto repeated = std::ranges::unique(asked);
  asked.erase(repeated.begin(), repeated.end());
  asked.resize(std::min(asked.size(), kMostAskedTwice));
  return asked;
}

class GpuSlicesRun final : public Run {
 public:
  GpuSlicesRun(PodPtr pod, const ClusterState& state, SliceScoring scoring,
               std::vector<ResourceId> asked_twice)
      : pod_(std::move(pod)), state_(&state), scoring_(scoring),
        asked_twice_(std::move(asked_twice)), asks_(asks_for_slices(*pod_, state)) {}

  Reach reach() const override {
    return asks_for_slices(*pod_, *state_) == asks_ ? Reach::Node : Reach::Cluster;
  }
  Grading grading() const override { return asks_ ? Grading::Absolute : Grading::None; }

  /// Bit i of the detail: asked_twice_[i].
  Verdict filter(NodeId id) const override {
    const std::vector<ResourceId>& limited = state_->node(id).one_replica;
    if (limited.empty()) {
      return Verdict::feasible();
    }
    std::uint64_t detail = 0;
    for (std::size_t i = 0; i < asked_twice_.size(); ++i) {
      if (std::ranges::find(limited, asked_twice_[i]) != limited.end()) {
        detail |= std::uint64_t{1} << i;
      }
    }
    return detail == 0 ? Verdict::feasible() : Verdict::unresolvable(detail);
  }
  std::vector<std::string> reasons(NodeId, Verdict verdict) const override {
    std::vector<std::string> reasons;
    for (std::uint64_t rest = verdict.detail; rest != 0; rest &= rest - 1) {
      const auto i = static_cast<std::size_t>(std::countr_zero(rest));
      reasons.push_back(fmt::format("{}{}{}", kReasonOneReplica,
                                    state_->resource_names().name(asked_twice_[i]),
                                    kReasonToAContainer));
    }
    return reasons;
  }

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
  std::vector<ResourceId> asked_twice_;
  bool asks_;
};

class GpuSlices final : public Plugin {
 public:
  explicit GpuSlices(GpuSlicesArgs args) : args_(args) {}

  std::string_view name() const override { return kGpuSlices; }
  Points points() const override { return Point::Filter | Point::Score | Point::Reserve; }

  std::vector<EventInterest> events() const override {
    return {{.resource = EventResource::Node,
             .action = actions::kAdd | actions::kNodeLabel | actions::kNodeAnnotation}};
  }

  Prepared prepare(const PodPtr& pod, const ClusterState& state) const override {
    // Devices are extended resources, and nvidia.com/gpu.
    const bool asks = pod->gpus > 0 || std::ranges::any_of(pod->requests, [](const auto& each) {
                        return each.first.index() >= kInlineResources;
                      });
    if (!asks) {
      return {.status = Status::skip(), .run = nullptr, .nodes = {}};
    }
    std::vector<ResourceId> twice = asked_twice(*pod, state);
    Status status = twice.empty() ? Status::skip() : Status::success();
    return {.status = std::move(status),
            .run = std::make_unique<GpuSlicesRun>(pod, state, args_.scoring, std::move(twice)),
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
