#include "berth/gang/gang_plugin.h"

#include <tuple>

#include <fmt/format.h>

#include "berth/api/strict.h"

namespace berth::gang {

using sched::EventInterest;
using sched::EventResource;
using sched::Point;
using sched::Status;
using sched::StatusCode;

class Gang final : public sched::Plugin {
 public:
  Gang(std::shared_ptr<const Groups> groups, GangArgs args)
      : groups_(std::move(groups)), args_(args) {}

  std::string_view name() const override { return kGangPlugin; }

  sched::Points points() const override {
    return Point::QueueSort | Point::Filter | Point::Reserve |
           static_cast<sched::Points>(Point::Permit);
  }

  bool looks_beyond_shape() const override { return true; }

  std::vector<EventInterest> events() const override {
    return {{.resource = EventResource::PodGroup, .action = sched::actions::kAll}};
  }

  bool less(const sched::QueuedPod& a, const sched::QueuedPod& b) const override {
    if (a.pod->priority != b.pod->priority) {
      return a.pod->priority > b.pod->priority;
    }
    const std::string_view group_a = a.pod->pod->pod_group();
    const std::string_view group_b = b.pod->pod->pod_group();
    const TimePoint born_a = born(a, group_a);
    const TimePoint born_b = born(b, group_b);
    if (born_a != born_b) {
      return born_a < born_b;
    }
    // A lone pod counts as a group of its own, by its name.
    const auto names = [](const sched::PodInfo& pod, std::string_view group) {
      const std::string_view name = pod.name();
      return std::tuple(std::string_view(pod.ns()), group.empty() ? name : group,
                        group.empty() ? std::string_view() : name);
    };
    return names(*a.pod, group_a) < names(*b.pod, group_b);
  }

  sched::Prepared prepare(const sched::PodPtr& pod, const sched::ClusterState&) const override {
    const api::Key key = group_of(*pod);
    if (key.name.empty()) {
      return {.status = Status::skip(), .run = nullptr, .nodes = {}};
    }
    const model::PodGroup* group = groups_->find(key);
    if (group == nullptr) {
      return rejected(std::string(kReasonNoGroup));
    }
    const std::int64_t members = groups_->member_count(key);
    if (members < group->min_member) {
      return rejected(fmt::format("pre-filter pod {} cannot find enough sibling pods, current pods "
                                  "number: {}, minMember of group: {}",
                                  pod->name(), members, group->min_member));
    }
    return {.status = Status::skip(), .run = nullptr, .nodes = {}};
  }

  sched::PermitResult permit(const sched::PodPtr& pod, sched::NodeId,
                             const sched::ClusterState& state) override {
    const api::Key key = group_of(*pod);
    if (key.name.empty() || key == whole_) {
      return {};
    }
    const model::PodGroup* group = groups_->find(key);
    if (group == nullptr) {
      return {.status = Status::of(StatusCode::Unschedulable, std::string(kReasonNoGroup)),
              .timeout = {},
              .effects = {}};
    }
    if (groups_->placed_count(key, state, pod->uid) + 1 < group->min_member) {
      return {.status = {.code = StatusCode::Wait, .reasons = {}, .plugin = {}},
              .timeout = group->schedule_timeout_seconds
                             ? Duration::seconds(*group->schedule_timeout_seconds)
                             : args_.permit_waiting_time,
              .effects = {}};
    }
    sched::PermitResult result;
    result.effects.allow = siblings(key, pod->uid);
    return result;
  }

  sched::Effects unreserve(const sched::PodPtr& pod, sched::NodeId,
                           const sched::ClusterState&) override {
    const api::Key key = group_of(*pod);
    sched::Effects effects;
    if (!key.name.empty() && key != whole_) {
      effects.reject = siblings(key, pod->uid);
    }
    return effects;
  }

  /// Members of this group are placed whole, until told otherwise with an empty key.
  void place_whole(const api::Key& group) { whole_ = group; }
  sched::Effects allow_all() const {
    sched::Effects effects;
    effects.allow = siblings(whole_, "");
    return effects;
  }

 private:
  static sched::Prepared rejected(std::string reason) {
    return {.status = Status::of(StatusCode::Unresolvable, std::move(reason)),
            .run = nullptr,
            .nodes = {}};
  }

  TimePoint born(const sched::QueuedPod& queued, std::string_view group) const {
    if (group.empty()) {
      return queued.attempts == 0 ? queued.timestamp : queued.initial_attempt;
    }
    return groups_->birth(group_of(*queued.pod));
  }

  /// The other members; whoever among them is not waiting is left alone by the process.
  std::vector<std::string> siblings(const api::Key& key, std::string_view uid) const {
    std::vector<std::string> found;
    for (const Groups::Member& member : groups_->members(key)) {
      if (member.pod->uid != uid) {
        found.push_back(member.pod->uid);
      }
    }
    return found;
  }

  std::shared_ptr<const Groups> groups_;
  GangArgs args_;
  api::Key whole_; ///< no name: none
};

WholeGroup::WholeGroup(sched::Framework& framework, const api::Key& group) {
  const sched::Framework::Entry* entry = framework.find(kGangPlugin);
  plugin_ = entry == nullptr ? nullptr : dynamic_cast<Gang*>(entry->plugin.get());
  if (plugin_ != nullptr) {
    plugin_->place_whole(group);
  }
}

WholeGroup::~WholeGroup() {
  if (plugin_ != nullptr) {
    plugin_->place_whole({});
  }
}

sched::Effects WholeGroup::enough() const {
  return plugin_ == nullptr ? sched::Effects() : plugin_->allow_all();
}

void decode(const api::Field& in, GangArgs& out) {
  api::refuse_unknown(in, {"permitWaitingTimeSeconds", "podGroupBackoffSeconds"});
  const auto seconds = [&](std::string_view name, Duration& into) {
    in.within(name, [&](const api::Field& field) {
      int value = 0;
      decode(field, value);
      if (value < 0) {
        api::refuse_value(field, "must not be negative");
      }
      into = Duration::seconds(value);
    });
  };
  Duration group_backoff;
  seconds("permitWaitingTimeSeconds", out.permit_waiting_time);
  seconds("podGroupBackoffSeconds", group_backoff);
}

Result<GangArgs> parse_gang_args(const boost::json::value& args) {
  return api::decode_document<GangArgs>(args);
}

sched::PluginFactory gang_plugin(std::shared_ptr<const Groups> groups) {
  return [groups](const sched::PluginConfig& config) -> Result<std::unique_ptr<sched::Plugin>> {
    BERTH_TRY(const GangArgs args, parse_gang_args(config.args));
    return std::make_unique<Gang>(groups, args);
  };
}

} // namespace berth::gang
