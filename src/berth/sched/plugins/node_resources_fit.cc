#include "berth/sched/plugins/node_resources_fit.h"

#include <algorithm>
#include <cmath>

#include "berth/model/requests.h"

namespace berth::sched {
namespace {

constexpr std::int64_t kMaxShapeScore = 10;

/// Bit 0: too many pods; bit i + 1: request i is short. Pods with more requests than bits name the
/// node instead.
constexpr std::size_t kDetailRequests = 62;
constexpr std::uint64_t kByNode = std::uint64_t{1} << 63;

bool ignores(const FitArgs& args, const std::string& name) {
  return is_extended_resource(name) &&
         (args.ignored_resources.contains(name) ||
          args.ignored_resource_groups.contains(std::string_view(name).substr(0, name.find('/'))));
}

class FitRun final : public Run {
 public:
  FitRun(PodPtr pod, const ClusterState& state, const FitArgs& args)
      : pod_(std::move(pod)), state_(&state), args_(&args) {
    for (const auto& request : pod_->requests) {
      if (!ignores(args, state.resource_names().name(request.first))) {
        requests_.push_back(request);
      }
    }
    for (const ResourceWeight& weighed : args.resources) {
      const auto id = state.resource_names().find(weighed.name);
      const bool common = id && (*id == kCpu || *id == kMemory || *id == kEphemeralStorage);
      if (id && (common || pod_->request(*id) > 0)) {
        scored_.emplace_back(*id, weighed.weight);
      }
    }
  }

  Reach reach() const override { return Reach::Node; }
  Grading grading() const override { return Grading::Absolute; }

  std::optional<std::span<const NodeId>> only_on() const override {
    std::optional<std::span<const NodeId>> fewest;
    for (const auto& [resource, amount] : requests_) {
      if (resource.index() >= kInlineResources) {
        const auto nodes = state_->nodes_with(resource);
        fewest = fewest && fewest->size() <= nodes.size() ? fewest : nodes;
      }
    }
    return fewest;
  }

  Verdict filter(NodeId id) const override {
    const NodeInfo& node = state_->node(id);
    std::uint64_t detail =
        static_cast<std::int64_t>(node.pods.size()) + 1 > node.allowed_pods ? 1 : 0;
    bool unresolvable = false;
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      const auto& [resource, amount] = requests_[i];
      const std::int64_t allocatable = node.allocatable.get(resource);
      if (amount > allocatable - node.requested.get(resource)) {
        detail |= i < kDetailRequests ? std::uint64_t{2} << i : kByNode | id.index();
        unresolvable = unresolvable || amount > allocatable;
      }
    }
    if (detail == 0) {
      return Verdict::feasible();
    }
    return unresolvable ? Verdict::unresolvable(detail) : Verdict::unschedulable(detail);
  }

  std::vector<std::string> reasons(NodeId id, Verdict verdict) const override {
    std::vector<std::string> reasons;
    const NodeInfo& node = state_->node(id);
    const bool by_node = (verdict.detail & kByNode) != 0;
    if (by_node ? static_cast<std::int64_t>(node.pods.size()) + 1 > node.allowed_pods
                : (verdict.detail & 1) != 0) {
      reasons.emplace_back(kReasonTooManyPods);
    }
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      const auto& [resource, amount] = requests_[i];
      const bool is_short =
          by_node ? amount > node.allocatable.get(resource) - node.requested.get(resource)
                  : (verdict.detail & (std::uint64_t{2} << i)) != 0;
      if (is_short) {
        reasons.push_back(std::string(kReasonInsufficient) +
                          state_->resource_names().name(resource));
      }
    }
    return reasons;
  }

  std::int64_t score(NodeId id) const override {
    const NodeInfo& node = state_->node(id);
    const bool ratio = args_->strategy == ScoringStrategy::RequestedToCapacityRatio;
    std::int64_t sum = 0;
    std::int64_t weights = 0;
    for (const auto& [resource, weight] : scored_) {
      const Utilization use = scored_utilization(node, *pod_, resource);
      if (use.capacity == 0) {
        continue;
      }
      const std::int64_t score = allocation_score(args_->strategy, use, args_->shape);
      if (!ratio || score > 0) {
        sum += score * weight;
        weights += weight;
      }
    }
    if (weights == 0) {
      return 0;
    }
    return ratio ? static_cast<std::int64_t>(
                       std::round(static_cast<double>(sum) / static_cast<double>(weights)))
                 : sum / weights;
  }

 private:
  PodPtr pod_;
  const ClusterState* state_;
  const FitArgs* args_; // of the plugin, which outlives the cycle
  std::vector<std::pair<ResourceId, std::int64_t>> requests_;
  std::vector<std::pair<ResourceId, std::int64_t>> scored_; // resource, weight
};

class NodeResourcesFit final : public Plugin {
 public:
  explicit NodeResourcesFit(FitArgs args) : args_(std::move(args)) {}

  std::string_view name() const override { return kNodeResourcesFit; }
  Points points() const override { return Point::Filter | Point::Score; }

  std::vector<EventInterest> events() const override {
    return {{.resource = EventResource::AssignedPod,
             .action = actions::kDelete | actions::kPodScaleDown},
            {.resource = EventResource::Node, .action = actions::kAdd | actions::kNodeAllocatable},
            {.resource = EventResource::UnscheduledPod, .action = actions::kPodScaleDown}};
  }

  Hint hint(const PodInfo& pod, const ClusterEvent& event) const override {
    if (event.resource == EventResource::UnscheduledPod) {
      return event.new_pod && event.new_pod->uid == pod.uid ? Hint::Queue : Hint::Skip;
    }
    if (event.resource == EventResource::Node) {
      return event.new_node && could_hold(*event.new_node, pod) ? Hint::Queue : Hint::Skip;
    }
    // A pod that leaves also frees its place among the node's pods.
    if ((event.action & actions::kDelete) != 0) {
      return hint_of_room(event, pod);
    }
    const bool gave_back =
        event.old_pod && event.new_pod &&
        std::ranges::any_of(pod.requests, [&](const auto& request) {
          return event.new_pod->request(request.first) < event.old_pod->request(request.first);
        });
    return gave_back ? Hint::Queue : Hint::Skip;
  }

  Prepared prepare(const PodPtr& pod, const ClusterState& state) const override {
    return {.status = {}, .run = std::make_unique<FitRun>(pod, state, args_), .nodes = {}};
  }

 private:
  Hint hint_of_room(const ClusterEvent& event, const PodInfo& pod) const {
    if (!event.room) {
      return Hint::Queue;
    }
    const bool may_ignore =
        !args_.ignored_resources.empty() || !args_.ignored_resource_groups.empty();
    return may_ignore || event.room->could_hold(pod) ? Hint::Room : Hint::Skip;
  }

  /// A node whose whole allocatable cannot hold the pod cannot help it.
  bool could_hold(const model::Node& node, const PodInfo& pod) const {
    const auto holds = [&](const std::string& name, std::int64_t amount) {
      const auto it = node.allocatable.find(name);
      return it != node.allocatable.end() && amount_of(name, it->second) >= amount;
    };
    return holds("pods", 1) &&
           std::ranges::all_of(model::effective_requests(pod.pod->spec), [&](const auto& request) {
             const std::int64_t amount = amount_of(request.first, request.second);
             return amount <= 0 || !is_counted_resource(request.first) ||
                    ignores(args_, request.first) || holds(request.first, amount);
           });
  }

  FitArgs args_;
};

/// Broken line through the shape's points, flat outside, integer arithmetic.
std::int64_t shape_score(const std::vector<UtilizationPoint>& shape, std::int64_t utilization) {
  constexpr std::int64_t kScale = kMaxNodeScore / kMaxShapeScore;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (utilization <= shape[i].utilization) {
      if (i == 0) {
        return shape[0].score * kScale;
      }
      const auto& [x0, y0] = shape[i - 1];
      const auto& [x1, y1] = shape[i];
      return y0 * kScale + (y1 - y0) * kScale * (utilization - x0) / (x1 - x0);
    }
  }
  return shape.empty() ? 0 : shape.back().score * kScale;
}

} // namespace

Utilization scored_utilization(const NodeInfo& node, const PodInfo& pod, ResourceId resource) {
  const std::int64_t capacity = node.allocatable.get(resource);
  if (resource == kCpu) {
    return {.requested = node.nonzero_cpu + pod.nonzero_cpu, .capacity = capacity};
  }
  if (resource == kMemory) {
    return {.requested = node.nonzero_memory + pod.nonzero_memory, .capacity = capacity};
  }
  return {.requested = node.requested.get(resource) + pod.request(resource), .capacity = capacity};
}

std::int64_t allocation_score(ScoringStrategy strategy, const Utilization& use,
                              const std::vector<UtilizationPoint>& shape) {
  switch (strategy) {
  case ScoringStrategy::LeastAllocated:
    return use.capacity == 0 || use.requested > use.capacity
               ? 0
               : (use.capacity - use.requested) * kMaxNodeScore / use.capacity;
  case ScoringStrategy::MostAllocated:
    return use.capacity == 0 ? 0
                             : std::min(use.requested, use.capacity) * kMaxNodeScore / use.capacity;
  case ScoringStrategy::RequestedToCapacityRatio:
    return shape_score(shape, use.capacity == 0 || use.requested > use.capacity
                                  ? 100
                                  : use.requested * 100 / use.capacity);
  }
  return 0;
}

std::unique_ptr<Plugin> make_node_resources_fit(FitArgs args) {
  return std::make_unique<NodeResourcesFit>(std::move(args));
}

} // namespace berth::sched
