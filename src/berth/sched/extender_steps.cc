// The steps of a cycle that ask extenders: nodes as names out, nodes as ids in.
#include "berth/sched/cycle_steps.h"

namespace berth::sched {
namespace {

std::vector<std::string> names_of(const ClusterState& state, std::span<const NodeId> nodes) {
  std::vector<std::string> names;
  names.reserve(nodes.size());
  for (const NodeId node : nodes) {
    names.push_back(state.node_name(node));
  }
  return names;
}

} // namespace

Decision asking_decision(const FilterSession& session) {
  Decision decision;
  decision.outcome = Outcome::Error;
  decision.message = "extenders have to be asked first";
  decision.questions = session.extenders->questions();
  return decision;
}

Result<std::optional<std::vector<NodeId>>>
pass_extenders(FilterSession& session, std::span<const NodeId> nodes, Refusals refusals) {
  const ClusterState& state = session.state();
  BERTH_TRY(auto filtered, session.extenders->filter(names_of(state, nodes)));
  if (!filtered) {
    return std::optional<std::vector<NodeId>>();
  }
  std::vector<NodeId> kept;
  std::map<NodeId, Status> refused;
  for (const NodeId node : nodes) {
    const auto said = filtered->refused.find(state.node_name(node));
    if (said == filtered->refused.end()) {
      kept.push_back(node);
    } else {
      refused.emplace(node, Status{.code = said->second.unresolvable ? StatusCode::Unresolvable
                                                                     : StatusCode::Unschedulable,
                                   .reasons = said->second.reasons,
                                   .plugin = std::string(kExtenderPlugin)});
    }
  }
  if (refusals == Refusals::Count) {
    session.refuse(refused);
  }
  return std::optional(std::move(kept));
}

std::optional<std::vector<ExtenderTalk::Scores>> ask_for_scores(FilterSession& session,
                                                                std::span<const NodeId> nodes) {
  if (session.extenders == nullptr || nodes.size() < 2) {
    return std::vector<ExtenderTalk::Scores>();
  }
  return session.extenders->prioritize(names_of(session.state(), nodes));
}

} // namespace berth::sched
