#include "berth/gang/member_class.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "berth/sched/open_gpus.h"

namespace berth::gang {
namespace {

bool shorter_name(const std::string& a, const std::string& b) {
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

bool is_hard(const model::TopologySpreadConstraint& constraint) {
  return constraint.when_unsatisfiable == "DoNotSchedule";
}

bool depends_on_siblings(const model::PodSpec& spec) {
  return (spec.pod_affinity && !spec.pod_affinity->required.empty()) ||
         std::ranges::any_of(spec.topology_spread_constraints, is_hard);
}

/// Labels that some member's required terms look at.
std::set<std::string> keys_of_terms(std::span<const sched::PodPtr> pods) {
  std::set<std::string> keys;
  const auto add = [&](const std::optional<api::Selector>& selector) {
    for (std::size_t i = 0; selector && i < selector->requirements.size(); ++i) {
      keys.insert(selector->requirements[i].key);
    }
  };
  for (const sched::PodPtr& pod : pods) {
    for (const auto* affinity : {&pod->pod->spec.pod_affinity, &pod->pod->spec.pod_anti_affinity}) {
      for (std::size_t i = 0; *affinity && i < (*affinity)->required.size(); ++i) {
        add((*affinity)->required[i].label_selector);
      }
    }
    for (const auto& constraint : pod->pod->spec.topology_spread_constraints) {
      if (is_hard(constraint)) {
        add(constraint.label_selector);
        keys.insert(constraint.match_label_keys.begin(), constraint.match_label_keys.end());
      }
    }
  }
  return keys;
}

} // namespace

bool harder_to_place(const sched::PodInfo& a, const sched::PodInfo& b) {
  const auto size = [](const sched::PodInfo& pod) {
    return std::tuple(-pod.gpus, -pod.request(sched::kCpu), -pod.request(sched::kMemory));
  };
  const auto size_a = size(a);
  const auto size_b = size(b);
  return size_a != size_b ? size_a < size_b : shorter_name(a.name(), b.name());
}

Fragments fragments_left(const sched::NodeInfo& node, const sched::PodInfo& pod) {
  if (pod.share != nullptr) {
    return {};
  }
  const bool by_index = node.gpus.all != 0; // else GPUs are only counted
  const std::int64_t whole = by_index ? std::popcount(node.gpus.all & ~node.gpus.unhealthy)
                                      : node.allocatable.get(sched::kGpu);
  const std::int64_t free =
      by_index ? sched::open_gpu_count(node.gpus) : whole - node.requested.get(sched::kGpu);
  return {.breaks_whole_node = pod.gpus > 0 && free == whole && free > pod.gpus,
          .gpus_left = free - pod.gpus};
}

MemberClass::MemberClass(const sched::Framework& framework, sched::ClusterState& state,
                         const SpreadLevels& levels, std::vector<sched::PodPtr> pods, TimePoint now)
    : framework_(&framework), state_(&state), levels_(&levels), pods_(std::move(pods)), now_(now),
      follows_(depends_on_siblings(pods_.front()->pod->spec)),
      session_(std::make_unique<sched::FilterSession>(framework, state, pods_.front(), now)),
      slots_(state.node_slots(), 0) {
  for (std::size_t level = 0; level < levels.depth(); ++level) {
    in_.emplace_back(levels.units(level), 0);
  }
  const bool prepared = session_->prepare().ok();
  counted_ = !follows_ && looks_at_nodes_alone();
  if (!counted_) {
    for (const sched::NodeId node : state.nodes()) {
      set_slots(node, 1);
    }
  } else if (prepared) {
    for (const sched::NodeId node : session_->candidates()) {
      set_slots(node, count(node));
    }
  }
  nodes_at_first_ = std::ranges::count_if(slots_, [](std::int64_t slots) { return slots > 0; });
}

bool MemberClass::looks_at_nodes_alone() const {
  return std::ranges::all_of(session_->runs(), [](const sched::ActiveRun& active) {
    return !active.filters || active.run->reach() == sched::Reach::Node;
  });
}

/// Places one member after the other on the node, as a what-if.
std::int64_t MemberClass::count(sched::NodeId node) {
  std::vector<std::pair<const sched::PodInfo*, sched::Undo>> placed;
  for (const sched::PodPtr& pod : pods_) {
    if (state_->find_pod(pod->uid) != nullptr) {
      continue; // placed by the search already
    }
    if (!session_->filter(node).verdict.ok()) {
      break;
    }
    placed.emplace_back(pod.get(), state_->try_assume(pod, node));
    session_->added(*pod, node);
  }
  const std::int64_t found = std::ssize(placed);
  while (!placed.empty()) {
    const sched::PodInfo* pod = placed.back().first;
    placed.pop_back();
    session_->removed(*pod, node);
  }
  return found;
}

std::int64_t MemberClass::recount(sched::NodeId node) {
  const std::int64_t before = slots(node);
  if (counted_ && before > 0 && looks_at_nodes_alone()) {
    set_slots(node, count(node));
  }
  return before;
}

void MemberClass::set_slots(sched::NodeId node, std::int64_t slots) {
  const std::int64_t more = slots - slots_[node.index()];
  slots_[node.index()] = slots;
  total_ += more;
  for (std::size_t level = 0; level < in_.size(); ++level) {
    if (const std::uint32_t unit = levels_->unit(level, node); unit != SpreadLevels::kNowhere) {
      in_[level][unit] += more;
    }
  }
}

bool MemberClass::may_go_anywhere(const sched::PodPtr& pod) const {
  return sched::FilterSession(*framework_, *state_, pod, now_).prepare().ok();
}

bool MemberClass::fits(sched::NodeId node, std::uint64_t moment) {
  if (slots(node) == 0) {
    return false;
  }
  if (counted_ && looks_at_nodes_alone()) {
    return true;
  }
  if (latest_ == nullptr || latest_moment_ != moment) {
    latest_ = std::make_unique<sched::FilterSession>(*framework_, *state_, pods_.front(), now_);
    latest_ok_ = latest_->prepare().ok();
    latest_moment_ = moment;
  }
  return latest_ok_ &&
         (!latest_->narrowed() || std::ranges::binary_search(latest_->candidates(), node)) &&
         latest_->filter(node).verdict.ok();
}

std::vector<MemberClass> member_classes(sched::Decider& decider, const SpreadLevels& levels,
                                        std::span<const sched::PodPtr> pods, TimePoint now) {
  struct Kind {
    sched::ShapeId shape;
    std::vector<std::uint32_t> shade;
    std::vector<std::pair<std::string, std::string>> labels;

    auto operator<=>(const Kind&) const = default;
  };
  const std::set<std::string> keys = keys_of_terms(pods);
  std::map<Kind, std::vector<sched::PodPtr>> by_kind;
  for (const sched::PodPtr& pod : pods) {
    Kind kind{.shape = pod->shape, .shade = {}, .labels = {}};
    for (const sched::Plugin* plugin : decider.framework().seeing_shades()) {
      plugin->shade(*pod, decider.state(), kind.shade);
    }
    const api::Labels& labels = pod->pod->meta.labels;
    for (const std::string& key : keys) {
      if (const auto label = labels.find(key); label != labels.end()) {
        kind.labels.emplace_back(key, label->second);
      }
    }
    by_kind[std::move(kind)].push_back(pod);
  }
  std::vector<MemberClass> classes;
  for (auto& [kind, members] : by_kind) {
    std::ranges::sort(members,
                      [](const auto& a, const auto& b) { return harder_to_place(*a, *b); });
    classes.emplace_back(decider.framework(), decider.state(), levels, std::move(members), now);
  }
  std::ranges::sort(classes, [](const MemberClass& a, const MemberClass& b) {
    const auto constrained = [](const MemberClass& one) {
      return std::tuple(one.follows_others(), one.nodes_at_first());
    };
    return constrained(a) != constrained(b) ? constrained(a) < constrained(b)
                                            : harder_to_place(*a.pods().front(), *b.pods().front());
  });
  return classes;
}

} // namespace berth::gang
