#include "berth/sched/plugins/gpu_topology.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "berth/api/strict.h"
#include "berth/hardware/bandwidth.h"
#include "berth/hardware/placement_table.h"
#include "berth/sched/open_gpus.h"

namespace berth::sched {
namespace {

using hardware::ChoicePolicy;
using hardware::GpuMask;
using hardware::Platform;

constexpr std::uint64_t kTaken = 0;
constexpr std::uint64_t kMissing = 1;
constexpr std::uint64_t kVgpus = 2;

/// What a node would look like with the pod on it.
struct Outlook {
  std::int64_t all_reduce = 0;
  std::int64_t damage = 0; ///< room lost
  std::int64_t left = 0;   ///< GPUs
  std::int64_t gpus = 0;   ///< of the node, in good health

  auto operator<=>(const Outlook&) const = default;
};

/// The room of `n` GPUs that are all alike, as PlacementTable::room measures it.
std::int64_t uniform_room(std::int64_t n) {
  std::int64_t room = 0;
  for (const std::int64_t size : {16, 8, 4, 2}) {
    room += n / size * size * 1000;
  }
  return room;
}

/// `part` of `whole` in 1/1000; a whole of 0 counts as nothing to tell apart: 0.
std::int64_t permille(std::int64_t part, std::int64_t whole) {
  return whole <= 0 ? 0 : part * 1000 / whole;
}

class GpuTopologyRun final : public Run {
 public:
  GpuTopologyRun(PodPtr pod, const ClusterState& state, ChoicePolicy policy)
      : pod_(std::move(pod)), state_(&state), policy_(policy) {}

  Reach reach() const override { return Reach::Node; }
  Grading grading() const override { return Grading::Relative; }
  std::uint64_t grade(NodeId node) override {
    const Outlook o = outlook(node);
    return grades_.try_emplace(o, grades_.size()).first->second;
  }

  Verdict filter(NodeId id) const override {
    const NodeGpus& gpus = state_->node(id).gpus;
    if (gpus.all == 0) {
      return filter_uncounted(state_->node(id));
    }
    if (pod_->gpus <= open_gpu_count(gpus)) {
      return Verdict::feasible();
    }
    return pod_->gpus > std::popcount(gpus.all & ~gpus.unhealthy) ? Verdict::unresolvable(kMissing)
                                                                  : Verdict::unschedulable(kTaken);
  }

  std::vector<std::string> reasons(NodeId, Verdict verdict) const override {
    return {std::string(verdict.detail == kMissing ? kReasonGpusMissing
                        : verdict.detail == kVgpus ? kReasonVgpus
                                                   : kReasonGpusTaken)};
  }

  Status pre_score(std::span<const NodeId> nodes) override {
    std::vector<Outlook> outlooks;
    Outlook most;
    for (const NodeId node : nodes) {
      const auto& o = outlooks.emplace_back(outlook(node));
      most.all_reduce = std::max(most.all_reduce, o.all_reduce);
      most.damage = std::max(most.damage, o.damage);
      most.left = std::max(most.left, o.left);
    }
    scores_.resize(std::max(scores_.size(), state_->node_slots()));
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      scores_[nodes[i].index()] = scored(outlooks[i], most);
    }
    return Status::success();
  }

  std::int64_t score(NodeId node) const override {
    return node.index() < scores_.size() ? scores_[node.index()] : 0;
  }

  Status reserve(const PodInfo&, const ClusterState& state, Reservation& reservation) override {
    const NodeInfo& node = state.node(reservation.node);
    if (node.gpus.all == 0) {
      return Status::success();
    }
    // The pod is on the node already, with indices unknown.
    const auto chosen = choose(*node.platform, open_gpus(state, node, reservation.slot));
    if (!chosen) {
      return Status::of(StatusCode::Unschedulable, std::string(kReasonGpusTaken));
    }
    reservation.gpus = *chosen;
    return Status::success();
  }

 private:
  /// Indices are unknown: NodeResourcesFit counts, but not GPUs that pods hold parts of.
  Verdict filter_uncounted(const NodeInfo& node) const {
    if (node.gpus.vgpus) {
      return Verdict::unresolvable(kVgpus);
    }
    const std::int64_t open =
        std::popcount(node.parts.all & ~node.gpus.shared) - node.gpus.unplaced;
    return node.gpus.shared == 0 || pod_->gpus <= open ? Verdict::feasible()
                                                       : Verdict::unschedulable(kTaken);
  }

  std::optional<GpuMask> choose(const Platform& platform, GpuMask open) const {
    const bool possible = pod_->gpus <= std::ssize(platform.gpus);
    return possible ? hardware::choose_gpus(platform, open, static_cast<int>(pod_->gpus), policy_)
                    : std::nullopt;
  }

  /// Many nodes are in the same state: what was found for one platform and open set holds for the
  /// next.
  Outlook outlook(NodeId id) {
    const NodeInfo& node = state_->node(id);
    if (node.gpus.all == 0) {
      const std::int64_t gpus = node.allocatable.get(kGpu);
      const std::int64_t open = std::max<std::int64_t>(0, gpus - node.requested.get(kGpu));
      const std::int64_t left = std::max<std::int64_t>(0, open - pod_->gpus);
      return {.all_reduce = 0,
              .damage = uniform_room(open) - uniform_room(left),
              .left = left,
              .gpus = gpus};
    }
    const GpuMask open = open_gpus(*state_, node);
    const auto [entry, fresh] = known_.try_emplace({node.platform, open});
    if (fresh) {
      const GpuMask chosen = choose(*node.platform, open).value_or(0);
      const auto& table = *node.platform->table;
      entry->second.all_reduce = hardware::all_reduce_mbps(*node.platform, chosen);
      entry->second.damage = std::int64_t{table.room(open)} - table.room(open & ~chosen);
      entry->second.left = std::popcount(open & ~chosen);
    }
    Outlook result = entry->second;
    result.gpus = std::popcount(node.gpus.all & ~node.gpus.unhealthy);
    return result;
  }

  std::int64_t scored(const Outlook& o, const Outlook& most) const {
    if (policy_ == ChoicePolicy::Spread) {
      return permille(o.left, o.gpus) / 10;
    }
    const auto thrift =
        (4 * (1000 - permille(o.damage, most.damage)) + (1000 - permille(o.left, most.left))) / 5;
    const bool collective = policy_ == ChoicePolicy::Topology && most.all_reduce > 0;
    return (collective ? (3 * permille(o.all_reduce, most.all_reduce) + thrift) / 4 : thrift) / 10;
  }

  PodPtr pod_;
  const ClusterState* state_;
  ChoicePolicy policy_;
  std::map<std::pair<const Platform*, GpuMask>, Outlook> known_; // looked up, never walked
  std::map<Outlook, std::uint64_t> grades_;
  std::vector<std::int64_t> scores_; // by node; of the nodes last given to pre_score
};

class GpuTopology final : public Plugin {
 public:
  explicit GpuTopology(GpuTopologyArgs args) : args_(args) {}

  std::string_view name() const override { return kGpuTopology; }
  Points points() const override { return Point::Filter | Point::Score | Point::Reserve; }

  std::vector<EventInterest> events() const override {
    return {{.resource = EventResource::AssignedPod,
             .action = actions::kDelete | actions::kPodScaleDown},
            {.resource = EventResource::UnscheduledPod, .action = actions::kPodScaleDown},
            {.resource = EventResource::Node,
             .action = actions::kAdd | actions::kNodeAllocatable | actions::kNodeLabel |
                       actions::kNodeAnnotation}};
  }

  Hint hint(const PodInfo& pod, const ClusterEvent& event) const override {
    switch (event.resource) {
    case EventResource::AssignedPod:
      // Whoever had the last part of a GPU leaves it whole.
      if (!event.old_pod || (event.old_pod->share == nullptr &&
                             event.old_pod->gpus <= (event.new_pod ? event.new_pod->gpus : 0))) {
        return Hint::Skip;
      }
      if (!event.room) {
        return Hint::Queue;
      }
      return event.room->could_give_gpus(pod) ? Hint::Room : Hint::Skip;
    case EventResource::UnscheduledPod:
      return event.new_pod && event.new_pod->uid == pod.uid ? Hint::Queue : Hint::Skip;
    case EventResource::Node: {
      const auto& allocatable = event.new_node->allocatable;
      const auto gpus = allocatable.find(model::kGpuResource);
      return gpus != allocatable.end() && gpus->second.value() >= pod.gpus ? Hint::Queue
                                                                           : Hint::Skip;
    }
    case EventResource::PodGroup:
    case EventResource::PersistentVolumeClaim:
    case EventResource::PersistentVolume:
    case EventResource::StorageClass:
    case EventResource::CsiNode:
    case EventResource::CsiDriver:
    case EventResource::CsiStorageCapacity:
    case EventResource::VolumeAttachment:
    case EventResource::ElasticQuota:
    case EventResource::ResourceQuota:
    case EventResource::NodeResourceTopology:
    case EventResource::Wildcard:
      return Hint::Queue;
    }
    return Hint::Queue;
  }

  Prepared prepare(const PodPtr& pod, const ClusterState& state) const override {
    if (pod->gpus == 0) {
      return {.status = Status::skip(), .run = nullptr, .nodes = {}};
    }
    return {.status = {},
            .run = std::make_unique<GpuTopologyRun>(pod, state, args_.policy),
            .nodes = {}};
  }

 private:
  GpuTopologyArgs args_;
};

} // namespace

void decode(const api::Field& in, GpuTopologyArgs& out) {
  api::refuse_unknown(in, {"policy"});
  in.within("policy", [&](const api::Field& field) {
    std::string policy;
    decode(field, policy);
    api::check_choice(field, policy, {"topology", "binpack", "spread"});
    out.policy = policy == "binpack"  ? ChoicePolicy::Binpack
                 : policy == "spread" ? ChoicePolicy::Spread
                                      : ChoicePolicy::Topology;
  });
}

Result<GpuTopologyArgs> parse_gpu_topology_args(const boost::json::value& args) {
  return api::decode_document<GpuTopologyArgs>(args);
}

std::unique_ptr<Plugin> make_gpu_topology(GpuTopologyArgs args) {
  return std::make_unique<GpuTopology>(args);
}

} // namespace berth::sched
