#include "berth/gang/place_group.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "berth/gang/choose_domain.h"
#include "berth/gang/gang_plugin.h"
#include "berth/gang/least_spread.h"

namespace berth::gang {
namespace {

std::vector<sched::PodPtr> in_order(std::vector<sched::PodPtr> pods) {
  std::ranges::sort(pods, [](const auto& a, const auto& b) { return harder_to_place(*a, *b); });
  return pods;
}

/// A change of the group may help too, e.g. a lower minMember or one member more.
void wake_with_group(sched::Decision& decision) {
  auto& plugins = decision.unschedulable_plugins;
  const std::string gang(kGangPlugin);
  if (const auto at = std::ranges::lower_bound(plugins, gang); at == plugins.end() || *at != gang) {
    plugins.insert(at, gang);
  }
}

/// Members decided so far, each against a state that holds those before it.
class Attempt {
 public:
  Attempt(sched::Decider& decider, const GroupRequest& request)
      : decider_(&decider), request_(&request), options_(request.options) {
    options_.post_filter = sched::PostFilters::Skip;
  }

  void decide(const sched::PodPtr& pod, std::optional<std::span<const sched::NodeId>> only = {}) {
    options_.only = only;
    options_.explain =
        request_->explained.contains(pod->uid) ? sched::Explain::Table : sched::Explain::No;
    add({.pod = pod, .decision = decider_->decide(pod, options_)});
  }
  void add(MemberDecision member) {
    fitted_ += member.decision.placed() ? 1 : 0;
    members_.push_back(std::move(member));
  }
  bool all_placed() const { return fitted_ == std::ssize(members_); }
  bool enough() const {
    return fitted_ > 0 && request_->already_placed + fitted_ >= request_->min_member;
  }
  std::int64_t fitted() const { return fitted_; }
  std::vector<MemberDecision>& members() { return members_; }

  /// Every placed member loses its node again; who failed keeps its own reason, the rest name it.
  /// `where` and `how` end up in the text.
  void take_back(std::string_view where = "", std::string_view how = "") {
    const auto failed = std::ranges::find_if(
        members_, [](const MemberDecision& member) { return !member.decision.placed(); });
    std::string why = failed == members_.end()
                          ? std::string("its other members are missing")
                          : fmt::format("pod \"{}\" does not fit: {}", failed->pod->name(),
                                        failed->decision.message);
    why += how;
    for (auto it = members_.rbegin(); it != members_.rend(); ++it) {
      if (it->decision.placed()) {
        undo_decision(decider_->framework(), decider_->state(), it->pod, it->decision.node);
        it->decision = refused(it->decision, failed == members_.end() ? nullptr : &failed->decision,
                               where, why);
      }
    }
  }

 private:
  sched::Decision refused(sched::Decision& was, const sched::Decision* first_failure,
                          std::string_view where, const std::string& why) const {
    sched::Decision decision;
    decision.message =
        fmt::format("pod group \"{}\" needs {} members placed at once{} and {} fit: {}",
                    request_->key.to_string(), request_->min_member, where,
                    request_->already_placed + fitted_, why);
    if (first_failure != nullptr) {
      decision.unschedulable_plugins = first_failure->unschedulable_plugins;
      decision.pending_plugins = first_failure->pending_plugins;
    }
    wake_with_group(decision);
    decision.feasible_nodes = was.feasible_nodes;
    decision.table = std::move(was.table);
    return decision;
  }

  sched::Decider* decider_;
  const GroupRequest* request_;
  sched::CycleOptions options_;
  std::vector<MemberDecision> members_;
  std::int64_t fitted_ = 0;
};

/// Of some nodes those where the member leaves the least behind.
std::vector<sched::NodeId> least_fragmented(const sched::ClusterState& state,
                                            const sched::PodInfo& pod,
                                            std::span<const sched::NodeId> nodes) {
  std::vector<sched::NodeId> best;
  Fragments least;
  for (const sched::NodeId node : nodes) {
    const Fragments left = fragments_left(state.node(node), pod);
    if (best.empty() || left <= least) {
      if (best.empty() || left < least) {
        best.clear();
        least = left;
      }
      best.push_back(node);
    }
  }
  return best;
}

/// The members that the choice has room for, each inside its share; none if one does not fit there
/// after all (a rule that looks across nodes can do that): then nothing is held.
std::optional<Attempt> place_in_domains(sched::Decider& decider, const GroupRequest& request,
                                        std::span<const sched::PodPtr> pods,
                                        const DomainChoice& choice) {
  Attempt attempt(decider, request);
  std::vector<std::int64_t> room = choice.by_node;
  auto pod = pods.begin();
  for (const auto& [nodes, members] : choice.shares) {
    std::vector<sched::NodeId> open = nodes;
    for (std::int64_t i = 0; i < members; ++i, ++pod) {
      std::erase_if(open, [&](sched::NodeId node) { return room[node.index()] == 0; });
      attempt.decide(*pod, least_fragmented(decider.state(), **pod, open));
      if (!attempt.all_placed()) {
        attempt.take_back();
        return std::nullopt;
      }
      --room[attempt.members().back().decision.node.index()];
    }
  }
  return attempt;
}

/// Tables of the members asked about, decided as if the group asked for no topology; nothing stays.
std::map<std::string, std::unique_ptr<sched::DecisionTable>>
tables_without_topology(sched::Decider& decider, const std::vector<sched::PodPtr>& pods,
                        const GroupRequest& request) {
  std::map<std::string, std::unique_ptr<sched::DecisionTable>> tables;
  if (request.explained.empty()) {
    return tables;
  }
  Attempt attempt(decider, request);
  for (const sched::PodPtr& pod : pods) {
    attempt.decide(pod);
  }
  attempt.take_back();
  for (MemberDecision& member : attempt.members()) {
    tables.emplace(member.pod->uid, std::move(member.decision.table));
  }
  return tables;
}

/// Every member says why the topology its group asks for has no room.
GroupDecision refuse_for_topology(sched::Decider& decider, const std::vector<sched::PodPtr>& pods,
                                  const GroupRequest& request, const std::string& required_key,
                                  std::int64_t most) {
  GroupDecision group;
  auto tables = tables_without_topology(decider, pods, request);
  for (const sched::PodPtr& pod : pods) {
    sched::Decision decision;
    decision.table = std::move(tables[pod->uid]);
    decision.message = fmt::format(
        "pod group \"{}\" needs {} members placed within one {} and at most {} fit",
        request.key.to_string(), request.min_member - request.already_placed, required_key, most);
    // Whatever frees or adds room may help.
    decision.unschedulable_plugins = {"GpuTopology", "NodeAffinity", "NodeResourcesFit",
                                      "NodeUnschedulable", "TaintToleration"};
    wake_with_group(decision);
    group.members.push_back({.pod = pod, .decision = std::move(decision)});
  }
  return group;
}

/// One group being placed.
class Placing {
 public:
  Placing(sched::Decider& decider, const GroupRequest& request)
      : decider_(&decider), request_(&request), pods_(in_order(request.pending)),
        topology_(topology_for(decider.state(), pods_)), whole_(decider.framework(), request.key) {}

  GroupDecision operator()() {
    const bool confined = !topology_.required_key.empty();
    std::optional<Attempt> attempt;
    if (of_one_shape(pods_)) {
      if (confined || !topology_.tree.flat()) {
        const DomainChoice choice = choose_domain(*decider_, pods_, *request_, topology_);
        if (confined && choice.shares.empty()) {
          return refuse_for_topology(*decider_, pods_, *request_, topology_.required_key,
                                     choice.most);
        }
        attempt = place_in_domains(*decider_, *request_, pods_, choice);
      } else {
        attempt = one_by_one({});
      }
    }
    if (!attempt || !attempt->enough()) {
      if (attempt) {
        attempt->take_back();
      }
      std::optional<Attempt> found = search();
      if (found) {
        attempt = std::move(found);
      } else if (!attempt || !proven_ || std::ssize(attempt->members()) < std::ssize(pods_)) {
        attempt = confined ? best_domain() : one_by_one({});
      }
    }
    return finish(*std::move(attempt));
  }

 private:
  Attempt one_by_one(std::optional<std::span<const sched::NodeId>> only) {
    Attempt attempt(*decider_, *request_);
    for (const sched::PodPtr& pod : pods_) {
      attempt.decide(pod, only);
    }
    return attempt;
  }

  /// All members, or as many as are needed, wherever they can be; none: nothing is held.
  std::optional<Attempt> search() {
    const SpreadLevels levels(topology_.tree, decider_->state().node_slots(),
                              topology_.required_key);
    GroupSearch search(*decider_, *request_, pods_, levels);
    const std::int64_t trials = request_->trials + std::ssize(pods_);
    const LeastSpread least = place_with_least_spread(search, levels, trials);
    SearchAnswer answer = least.answer;
    proven_ = least.proven && answer != SearchAnswer::OutOfTrials;
    const std::int64_t needed = request_->min_member - request_->already_placed;
    if (answer != SearchAnswer::Found && needed < std::ssize(pods_)) {
      SearchLimits limits = widest_limits(levels);
      limits.may_stay = std::ssize(pods_) - std::max<std::int64_t>(1, needed);
      answer = search.run(limits, trials);
      proven_ = proven_ && answer != SearchAnswer::OutOfTrials;
    }
    trials_ = search.trials();
    if (answer != SearchAnswer::Found) {
      return std::nullopt;
    }
    Attempt attempt(*decider_, *request_);
    for (MemberDecision& member : search.placed()) {
      attempt.add(std::move(member));
    }
    return attempt;
  }

  /// One by one in the domain where most fit, for lack of anything better.
  Attempt best_domain() {
    constexpr std::size_t kMostTries = 16;
    std::optional<std::vector<sched::NodeId>> best;
    std::int64_t most = -1;
    std::vector<std::vector<sched::NodeId>> domains =
        allowed_domains(decider_->state(), *request_, topology_);
    domains.resize(std::min(domains.size(), kMostTries));
    for (std::vector<sched::NodeId>& domain : domains) {
      Attempt attempt = one_by_one(domain);
      const std::int64_t fitted = attempt.fitted();
      attempt.take_back();
      if (fitted > most) {
        most = fitted;
        best = std::move(domain);
      }
    }
    return one_by_one(best.value_or(std::vector<sched::NodeId>()));
  }

  /// Decides who has not been decided yet, and takes all back if there are too few.
  GroupDecision finish(Attempt attempt) {
    const bool confined = !topology_.required_key.empty();
    // What the chosen domains have no room for may fit elsewhere, unless all must be in one.
    std::set<sched::PodPtr> decided;
    for (const MemberDecision& member : attempt.members()) {
      decided.insert(member.pod);
    }
    std::vector<sched::PodPtr> left;
    std::ranges::copy_if(pods_, std::back_inserter(left),
                         [&](const sched::PodPtr& pod) { return !decided.contains(pod); });
    for (std::size_t i = 0; i < left.size() && !confined; ++i) {
      attempt.decide(left[i]);
    }
    GroupDecision group{
        .placed = attempt.enough(), .members = {}, .trials = trials_, .proven = proven_};
    if (!group.placed) {
      attempt.take_back(
          confined ? fmt::format(" within one {}", topology_.required_key) : std::string(),
          proven_
              ? std::string()
              : fmt::format(" The search for another arrangement ended after {} trial{} without "
                            "an answer.",
                            trials_, trials_ == 1 ? "" : "s"));
    }
    group.members = std::move(attempt.members());
    for (const sched::PodPtr& pod : left) {
      if (confined) {
        sched::Decision waits;
        waits.message =
            fmt::format("pod group \"{}\" has its members, and its {} has no room for more",
                        request_->key.to_string(), topology_.required_key);
        waits.unschedulable_plugins = {"GpuTopology", "NodeResourcesFit"};
        group.members.push_back({.pod = pod, .decision = std::move(waits)});
      }
    }
    if (group.placed) {
      let_wait_end(group);
    }
    return group;
  }

  /// Members placed earlier, one by one, may be waiting for the others.
  void let_wait_end(GroupDecision& group) const {
    const auto last =
        std::ranges::find_if(group.members.rbegin(), group.members.rend(),
                             [](const MemberDecision& member) { return member.decision.placed(); });
    last->decision.effects.merge(whole_.enough());
  }

  sched::Decider* decider_;
  const GroupRequest* request_;
  std::vector<sched::PodPtr> pods_;
  GroupTopology topology_;
  WholeGroup whole_; ///< quorum is reached inside this call, or nobody is placed
  std::int64_t trials_ = 0;
  bool proven_ = true;
};

} // namespace

GroupDecision place_group(sched::Decider& decider, const GroupRequest& request) {
  return Placing(decider, request)();
}

} // namespace berth::gang
