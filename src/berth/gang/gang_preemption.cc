#include "berth/gang/gang_preemption.h"

#include <algorithm>

#include <fmt/format.h>

#include "berth/api/strict.h"
#include "berth/gang/eviction_search.h"
#include "berth/gang/preemption_plan.h"
#include "berth/sched/message.h"
#include "berth/sched/preemption_search.h"

namespace berth::gang {
namespace {

using sched::PostFilterResult;
using sched::Status;
using sched::StatusCode;

PostFilterResult refused(std::string_view reason) {
  PostFilterResult result;
  result.status = Status::of(StatusCode::Unschedulable, fmt::format("preemption: {}", reason));
  return result;
}

std::string_view nominated_node_of(sched::FilterSession& session) {
  const std::string_view known = session.state().nominated_node(session.pod()->uid);
  return known.empty() ? std::string_view(session.pod()->pod->status.nominated_node_name) : known;
}

/// Nodes that failed of something eviction might cure.
std::vector<sched::NodeId> curable_nodes(sched::FilterSession& session) {
  const sched::ClusterState& state = session.state();
  const bool absent_helps = session.absent && session.absent->code == StatusCode::Unschedulable;
  std::vector<bool> helps(state.node_slots(), absent_helps);
  for (const sched::NodeFailure& failure : session.failures) {
    helps[failure.node.index()] = failure.verdict.code == StatusCode::Unschedulable;
  }
  std::vector<sched::NodeId> nodes;
  std::ranges::copy_if(state.nodes(), std::back_inserter(nodes),
                       [&](sched::NodeId node) { return helps[node.index()]; });
  return nodes;
}

class GangPreemption final : public sched::Plugin {
 public:
  explicit GangPreemption(std::shared_ptr<const Groups> groups) : groups_(std::move(groups)) {}

  std::string_view name() const override { return kGangPreemption; }
  sched::Points points() const override {
    return static_cast<sched::Points>(sched::Point::PostFilter);
  }
  /// A member is told of its group.
  bool looks_beyond_shape() const override { return true; }
  bool shape_tells(const sched::PodPtr& pod, const sched::ClusterState&) const override {
    return pod->pod->pod_group().empty();
  }

  PostFilterResult post_filter(sched::FilterSession& session) const override {
    const sched::PodPtr& pod = session.pod();
    const sched::LowerPriority rule(*pod);
    if (session.extenders != nullptr) {
      return preempt(session, rule, [](std::size_t nodes) {
        return sched::SearchBreadth{.first = 0, .enough = nodes};
      });
    }
    if (pod->pod->spec.preemption_policy == "Never") {
      return refused(sched::kReasonNever);
    }
    sched::ClusterState& state = session.state();
    if (const model::PodGroup* group = groups_->find(group_of(*pod));
        group != nullptr &&
        groups_->placed_count(group_of(*pod), state, pod->uid) + 1 < group->min_member) {
      return refused("a pod group that is not whole evicts nobody for a member");
    }
    const std::string_view nominated = nominated_node_of(session);
    const auto waits_on = nominated.empty() ? std::nullopt : state.find_node(nominated);
    if (waits_on && std::ranges::any_of(state.node(*waits_on).pods, [&](sched::PodSlot slot) {
          return rule.awaits(*state.placed(slot).pod);
        })) {
      return refused(sched::kReasonTerminating);
    }
    return search(session, !nominated.empty());
  }

 private:
  PostFilterResult search(sched::FilterSession& session, bool was_nominated) const {
    sched::ClusterState& state = session.state();
    const sched::PodPtr& pod = session.pod();
    const std::vector<sched::NodeId> nodes = curable_nodes(session);
    const std::size_t unhelpful = state.nodes().size() - nodes.size();
    VictimBook book(state, *groups_,
                    {.group = group_of(*pod), .priority = pod->priority, .now = session.now()});
    EvictionSearch search(book, {{.pods = {pod}, .session = &session}});
    if (!search.find(nodes)) {
      sched::ReasonHistogram reasons;
      if (unhelpful > 0) {
        reasons[std::string(sched::kReasonNotHelpful)] = static_cast<std::int64_t>(unhelpful);
      }
      if (!nodes.empty()) {
        reasons[std::string(sched::kReasonNoVictims)] = static_cast<std::int64_t>(nodes.size());
      }
      PostFilterResult result = refused(sched::failed_scheduling_message(
          static_cast<std::int64_t>(state.nodes().size()), "", reasons, ""));
      if (was_nominated) {
        result.nominated_node = "";
      }
      return result;
    }
    const sched::NodeId node = search.rooms(0).front().first;
    const std::vector<VictimId> taken = book.taken();
    book.reset();
    PreemptionPlan plan = plan_of(book, state, taken);
    plan.rooms = {{.pod = pod, .node = state.node_name(node)}};
    plan.nodes_tried = search.tried();
    PostFilterResult result;
    result.nominated_node = state.node_name(node);
    result.victims = plan.victims();
    result.note = sentence(plan, fmt::format("pod \"{}\"", pod->pod->key().to_string()));
    result.status.reasons = {fmt::format("preemption: {}.", result.note)};
    result.denominated = losing_nomination(state, *groups_, plan, pod->priority);
    return result;
  }

  std::shared_ptr<const Groups> groups_;
};

struct NoArgs {};

void decode(const api::Field& in, NoArgs&) {
  api::refuse_unknown(in, {});
}

} // namespace

sched::PluginFactory gang_preemption_plugin(std::shared_ptr<const Groups> groups) {
  return [groups](const sched::PluginConfig& config) -> Result<std::unique_ptr<sched::Plugin>> {
    BERTH_CHECK(api::decode_document<NoArgs>(config.args));
    return std::make_unique<GangPreemption>(groups);
  };
}

} // namespace berth::gang
