#include "berth/gang/preempt_group.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <tuple>

#include <fmt/format.h>

#include "berth/gang/choose_domain.h"
#include "berth/gang/eviction_search.h"
#include "berth/gang/gang_preemption.h"
#include "berth/gang/topology_tree.h"
#include "berth/sched/preemption.h"

namespace berth::gang {
namespace {

constexpr std::size_t kMostTrials = 64; ///< of place_group
/// Members decided in trials that only look for victims to spare.
constexpr std::size_t kMostTrialMembers = 8192;

/// While a group is decided its members do not hold room against each other. Those that are not
/// placed by then have their nominations again at the end.
class NominationsAside {
 public:
  NominationsAside(sched::ClusterState& state, const std::vector<sched::PodPtr>& pods)
      : state_(&state) {
    for (const sched::PodPtr& pod : pods) {
      if (const std::string_view node = state.nominated_node(pod->uid); !node.empty()) {
        nominations_.emplace_back(pod, node);
        state.clear_nomination(pod->uid);
      }
    }
  }
  NominationsAside(const NominationsAside&) = delete;
  NominationsAside& operator=(const NominationsAside&) = delete;
  ~NominationsAside() {
    for (const auto& [pod, node] : nominations_) {
      if (state_->find_pod(pod->uid) == nullptr) {
        state_->nominate(pod, node);
      }
    }
  }

 private:
  sched::ClusterState* state_;
  std::vector<std::pair<sched::PodPtr, std::string>> nominations_;
};

auto hardness(const sched::PodInfo& pod) {
  return std::tuple(-pod.gpus, -pod.request(sched::kCpu), -pod.request(sched::kMemory));
}

/// Which members room is made for if there are more than the quorum lacks.
enum class Pick { Hardest, Easiest };

/// So many members by shape, the hardest first as place_group decides them.
std::vector<std::vector<sched::PodPtr>> by_shape(std::vector<sched::PodPtr> pods,
                                                 std::size_t needed, Pick pick) {
  std::ranges::stable_sort(pods, {}, [](const sched::PodPtr& pod) { return hardness(*pod); });
  if (pods.size() > needed) {
    const auto beyond = static_cast<std::ptrdiff_t>(pods.size() - needed);
    const auto begin = pick == Pick::Hardest ? pods.end() - beyond : pods.begin();
    pods.erase(begin, begin + beyond);
  }
  std::vector<std::vector<sched::PodPtr>> shapes;
  for (const sched::PodPtr& pod : pods) {
    const auto same = std::ranges::find_if(shapes, [&](const auto& shape) {
      return pod->shape.valid() && shape.front()->shape == pod->shape;
    });
    if (same == shapes.end()) {
      shapes.push_back({pod});
    } else {
      same->push_back(pod);
    }
  }
  return shapes;
}

/// Neighbours in the topology follow one another, so that of equal nodes near ones are taken.
std::vector<sched::NodeId> nodes_by_topology(const sched::ClusterState& state) {
  const TopologyTree tree(state, default_topology_levels());
  std::vector<sched::NodeId> nodes;
  for (const Domain& domain : tree.domains()) {
    if (domain.children.empty()) {
      nodes.insert(nodes.end(), domain.nodes.begin(), domain.nodes.end());
    }
  }
  return nodes;
}

/// The sets of nodes of which one must hold the whole group.
std::vector<std::vector<sched::NodeId>> domains_for(const sched::ClusterState& state,
                                                    const GroupRequest& request) {
  std::vector<sched::NodeId> nodes = nodes_by_topology(state);
  const auto& annotations = request.pending.front()->pod->meta.annotations;
  const auto required = annotations.find(kRequiredTopology);
  if (required == annotations.end() || required->second.empty()) {
    return {std::move(nodes)};
  }
  std::map<std::string, std::vector<sched::NodeId>> by_value;
  for (const sched::NodeId node : nodes) {
    const api::Labels& labels = state.node(node).labels();
    if (const auto label = labels.find(required->second); label != labels.end()) {
      by_value[label->second].push_back(node);
    }
  }
  std::vector<std::vector<sched::NodeId>> domains;
  for (auto& [value, inside] : by_value) {
    const bool with_siblings = std::ranges::all_of(request.placed_on, [&](sched::NodeId node) {
      return std::ranges::find(inside, node) != inside.end();
    });
    if (with_siblings) {
      domains.push_back(std::move(inside));
    }
  }
  return domains;
}

/// The group as it would be placed if these were gone; none if it would not. Nothing stays.
std::optional<std::vector<PreemptionPlan::Room>> try_without(sched::Decider& decider,
                                                             const GroupRequest& request,
                                                             const VictimBook& book,
                                                             std::span<const VictimId> ids) {
  sched::ClusterState& state = decider.state();
  std::vector<sched::Undo> gone;
  const auto remove = [&](const Victim& victim) {
    gone.push_back(state.try_remove(victim.placed.pod->uid));
  };
  for (const Victim& victim : book.victims()) {
    if (victim.leaving) {
      remove(victim);
    }
  }
  std::ranges::for_each(ids, [&](VictimId id) { remove(book.victims()[id]); });
  GroupRequest trial = request;
  trial.options.sampling = nullptr;
  trial.explained.clear();
  // What was learnt of the real state does not hold in this one.
  sched::Decider without(decider.framework(), state);
  const GroupDecision decision = place_group(without, trial);
  std::optional<std::vector<PreemptionPlan::Room>> rooms;
  if (decision.placed) {
    rooms.emplace();
    for (const MemberDecision& member : decision.members) {
      if (member.decision.placed()) {
        rooms->push_back({.pod = member.pod, .node = member.decision.node_name});
      }
    }
    for (auto it = decision.members.rbegin(); it != decision.members.rend(); ++it) {
      if (it->decision.placed()) {
        undo_decision(decider.framework(), state, it->pod, it->decision.node);
      }
    }
  }
  while (!gone.empty()) {
    gone.pop_back();
  }
  return rooms;
}

/// A way to make room, not tried yet.
struct Proposal {
  std::vector<VictimId> ids;
  EvictionCost cost;
  std::size_t nodes_tried = 0;
};

/// The sessions of a group's shapes, and whether they look at each node alone.
class Members {
 public:
  Members(sched::Decider& decider, const GroupRequest& request, std::size_t needed, Pick pick)
      : exact_(by_shape(request.pending, request.pending.size(), pick).size() == 1) {
    for (std::vector<sched::PodPtr>& pods : by_shape(request.pending, needed, pick)) {
      auto& session = sessions_.emplace_back(std::make_unique<sched::FilterSession>(
          decider.framework(), decider.state(), pods.front(), request.options.now));
      const sched::Status status = session->prepare();
      possible_ = possible_ && (status.ok() || status.code == sched::StatusCode::Unschedulable);
      exact_ = exact_ && std::ranges::all_of(session->runs(), [](const sched::ActiveRun& active) {
                 return !active.filters || active.run->reach() == sched::Reach::Node;
               });
      shapes_.push_back(std::move(pods));
    }
  }

  bool possible() const { return possible_; }
  /// Does the search know what place_group will say?
  bool exact() const { return exact_; }

  std::vector<PendingClass> classes() const {
    std::vector<PendingClass> classes;
    for (std::size_t i = 0; i < shapes_.size(); ++i) {
      classes.push_back({.pods = shapes_[i], .session = sessions_[i].get()});
    }
    return classes;
  }

 private:
  std::vector<std::vector<sched::PodPtr>> shapes_;
  std::vector<std::unique_ptr<sched::FilterSession>> sessions_;
  bool possible_ = true;
  bool exact_ = false;
};

std::vector<Proposal> proposals(const Members& members, VictimBook& book,
                                const std::vector<std::vector<sched::NodeId>>& domains) {
  std::vector<Proposal> found;
  EvictionSearch search(book, members.classes());
  for (const std::vector<sched::NodeId>& nodes : domains) {
    if (search.find(nodes)) {
      Proposal proposal{.ids = book.taken(), .cost = {}, .nodes_tried = search.tried()};
      book.reset();
      proposal.cost = book.cost(proposal.ids);
      found.push_back(std::move(proposal));
    }
  }
  std::ranges::stable_sort(found, {}, &Proposal::cost);
  found.resize(std::min(found.size(), kMostTrials));
  return found;
}

/// Units that place_group does not need gone, found out by trying; as far as that is cheap.
void spare_by_trial(sched::Decider& decider, const GroupRequest& request, const VictimBook& book,
                    std::vector<VictimId>& ids, std::vector<PreemptionPlan::Room>& rooms) {
  const PreemptionPlan plan = plan_of(book, decider.state(), ids);
  std::size_t trials = std::min(kMostTrials, kMostTrialMembers / request.pending.size());
  for (const VictimUnit& unit : plan.units) {
    if (trials-- == 0) {
      return;
    }
    std::vector<VictimId> fewer = ids;
    std::erase_if(fewer, [&](VictimId id) {
      return std::ranges::find(unit.pods, book.victims()[id].placed.pod) != unit.pods.end();
    });
    if (auto still = try_without(decider, request, book, fewer)) {
      ids = std::move(fewer);
      rooms = *std::move(still);
    }
  }
}

std::string_view nominated_node_of(const sched::ClusterState& state, const sched::PodInfo& pod) {
  const std::string_view known = state.nominated_node(pod.uid);
  return known.empty() ? std::string_view(pod.pod->status.nominated_node_name) : known;
}

/// Victims of an earlier preemption for the group are still on the way out.
bool waits_for_victims(const sched::ClusterState& state, const GroupRequest& request) {
  return std::ranges::any_of(request.pending, [&](const sched::PodPtr& pod) {
    const std::string_view name = nominated_node_of(state, *pod);
    const auto node = name.empty() ? std::nullopt : state.find_node(name);
    const sched::LowerPriority rule(*pod);
    return node && std::ranges::any_of(state.node(*node).pods, [&](sched::PodSlot slot) {
             return rule.awaits(*state.placed(slot).pod);
           });
  });
}

Preemptor preemptor_of(const GroupRequest& request) {
  Preemptor preemptor{.group = request.key,
                      .priority = std::numeric_limits<std::int64_t>::max(),
                      .now = request.options.now};
  for (const sched::PodPtr& pod : request.pending) {
    preemptor.priority = std::min(preemptor.priority, pod->priority);
  }
  return preemptor;
}

/// Each victim goes for a member that gets room on its node, or for the first one.
void carry_over(sched::ClusterState& state, const Groups& groups, const GroupRequest& request,
                const PreemptionPlan& plan, GroupDecision& decision) {
  const std::vector<sched::PodPtr> denominated =
      losing_nomination(state, groups, plan, preemptor_of(request).priority);
  for (const sched::PodPtr& other : denominated) {
    state.clear_nomination(other->uid);
  }
  const std::string why = sentence(plan, fmt::format("pod group \"{}\"", request.key.to_string()));
  std::map<std::string, MemberDecision*, std::less<>> by_node;
  std::map<std::string, MemberDecision*, std::less<>> by_uid;
  for (MemberDecision& member : decision.members) {
    by_uid.emplace(member.pod->uid, &member);
  }
  MemberDecision* first = by_uid.at(plan.rooms.front().pod->uid);
  first->decision.denominated = denominated;
  for (const PreemptionPlan::Room& room : plan.rooms) {
    MemberDecision* member = by_uid.at(room.pod->uid);
    member->decision.nominated_node = room.node;
    member->decision.preemption_note = why;
    member->decision.message += fmt::format(" preemption: {}.", why);
    by_node.emplace(room.node, member);
    state.nominate(room.pod, room.node);
  }
  for (const VictimUnit& unit : plan.units) {
    for (std::size_t i = 0; i < unit.pods.size(); ++i) {
      const auto there = by_node.find(unit.nodes[i]);
      (there == by_node.end() ? first : there->second)->decision.victims.push_back(unit.pods[i]);
    }
  }
}

/// Tries proposals, the cheapest first, until one places the group.
std::optional<PreemptionPlan>
first_that_works(sched::Decider& decider, const GroupRequest& request, const Members& members,
                 VictimBook& book, const std::vector<std::vector<sched::NodeId>>& domains) {
  for (Proposal& proposal : proposals(members, book, domains)) {
    auto rooms = try_without(decider, request, book, proposal.ids);
    if (!rooms) {
      continue;
    }
    if (!members.exact()) {
      spare_by_trial(decider, request, book, proposal.ids, *rooms);
    }
    PreemptionPlan plan = plan_of(book, decider.state(), proposal.ids);
    plan.rooms = *std::move(rooms);
    plan.nodes_tried = proposal.nodes_tried;
    return plan;
  }
  return std::nullopt;
}

/// The group has its quorum; each member beyond it may preempt for itself. A required topology is
/// not known to a pod alone, so there they wait.
void preempt_for_the_rest(sched::Decider& decider, const GroupRequest& request,
                          GroupDecision& decision) {
  for (MemberDecision& member : decision.members) {
    if (!member.decision.placed() &&
        !member.pod->pod->meta.annotations.contains(std::string(kRequiredTopology))) {
      sched::CycleOptions options = request.options;
      options.explain =
          request.explained.contains(member.pod->uid) ? sched::Explain::Table : sched::Explain::No;
      member.decision = decider.decide(member.pod, options);
    }
  }
}

} // namespace

bool preempts_for_groups(const sched::Framework& framework) {
  const auto* plugin = framework.find(kGangPreemption);
  return plugin != nullptr && plugin->has(sched::Point::PostFilter);
}

GroupPreemption plan_for_group(sched::Decider& decider, const Groups& groups,
                               const GroupRequest& request) {
  sched::ClusterState& state = decider.state();
  const auto never = [](const sched::PodPtr& pod) {
    return pod->pod->spec.preemption_policy == "Never";
  };
  if (std::ranges::any_of(request.pending, never)) {
    return {.plan = {}, .reason = kGroupNever};
  }
  if (waits_for_victims(state, request)) {
    return {.plan = {}, .reason = kGroupTerminating};
  }
  const NominationsAside aside(state, request.pending);
  const auto needed = static_cast<std::size_t>(
      std::max<std::int64_t>(1, request.min_member - request.already_placed));
  if (needed > request.pending.size() || state.nodes().empty()) {
    return {.plan = {}, .reason = kGroupInVain};
  }
  VictimBook book(state, groups, preemptor_of(request));
  const auto domains = domains_for(state, request);
  for (const Pick pick : {Pick::Hardest, Pick::Easiest}) {
    const Members members(decider, request, needed, pick);
    if (members.possible()) {
      if (auto plan = first_that_works(decider, request, members, book, domains)) {
        return {.plan = std::move(plan), .reason = {}};
      }
    }
    if (members.exact() || needed == request.pending.size()) {
      break; // the same members again
    }
  }
  return {.plan = {}, .reason = kGroupInVain};
}

GroupDecision place_or_preempt(sched::Decider& decider, const Groups& groups,
                               const GroupRequest& request) {
  if (!preempts_for_groups(decider.framework())) {
    return place_group(decider, request);
  }
  GroupDecision decision;
  {
    const NominationsAside aside(decider.state(), request.pending);
    decision = place_group(decider, request);
  }
  if (decision.placed) {
    preempt_for_the_rest(decider, request, decision);
    return decision;
  }
  if (request.already_placed + std::ssize(request.pending) < request.min_member) {
    return decision; // it lacks members, not room
  }
  const GroupPreemption preemption = plan_for_group(decider, groups, request);
  if (preemption.plan) {
    carry_over(decider.state(), groups, request, *preemption.plan, decision);
    return decision;
  }
  for (MemberDecision& member : decision.members) {
    member.decision.message += fmt::format(" preemption: {}", preemption.reason);
    // Room that is not enough for the group is not held for it.
    if (preemption.reason == kGroupInVain &&
        !nominated_node_of(decider.state(), *member.pod).empty()) {
      decider.state().clear_nomination(member.pod->uid);
      member.decision.nominated_node = "";
    }
  }
  return decision;
}

} // namespace berth::gang
