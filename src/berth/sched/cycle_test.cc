// The framework's rules (spec 1.1-1.4) with plugins made for the test.
#include "berth/sched/cycle.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/testing/scheduling_world.h"

namespace berth::sched {
namespace {

using test::node;
using test::pod;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

/// What a made-up plugin does at each point; logs what it was asked.
struct Script {
  Points points = 0;
  Status prefilter;
  std::optional<std::vector<std::string>> nodes;
  std::map<std::string, Verdict> filter; // by node name; absent: feasible
  std::map<std::string, std::int64_t> score;
  Status pre_score;
  Status reserve;
  PermitResult permit;
  PostFilterResult post_filter;
  hardware::GpuMask gpus = 0;
};

using Log = std::vector<std::string>;

class ScriptedRun final : public Run {
 public:
  ScriptedRun(std::string name, Script script, const ClusterState& state, Log* log)
      : name_(std::move(name)), script_(std::move(script)), state_(&state), log_(log) {}
  Verdict filter(NodeId id) const override {
    const auto it = script_.filter.find(state_->node_name(id));
    return it == script_.filter.end() ? Verdict::feasible() : it->second;
  }
  std::vector<std::string> reasons(NodeId, Verdict verdict) const override {
    return {fmt::format("{} says {}", name_, verdict.detail)};
  }
  Status pre_score(std::span<const NodeId>) override { return script_.pre_score; }
  std::int64_t score(NodeId id) const override {
    const auto it = script_.score.find(state_->node_name(id));
    return it == script_.score.end() ? 0 : it->second;
  }
  Status reserve(const PodInfo&, const ClusterState&, Reservation& reservation) override {
    log_->push_back("reserve " + name_);
    reservation.gpus |= script_.gpus;
    return script_.reserve;
  }

 private:
  std::string name_;
  Script script_;
  const ClusterState* state_;
  Log* log_;
};

class Scripted final : public Plugin {
 public:
  Scripted(std::string name, Script script, Log* log)
      : name_(std::move(name)), script_(std::move(script)), log_(log) {}
  std::string_view name() const override { return name_; }
  Points points() const override { return script_.points; }
  std::vector<EventInterest> events() const override {
    return {{.resource = EventResource::Node, .action = actions::kAdd}};
  }
  Prepared prepare(const PodPtr&, const ClusterState& state) const override {
    log_->push_back("prepare " + name_);
    Prepared prepared{.status = script_.prefilter,
                      .run = std::make_unique<ScriptedRun>(name_, script_, state, log_),
                      .nodes = {}};
    if (script_.nodes) {
      prepared.nodes.emplace();
      for (const auto& node_name : *script_.nodes) {
        prepared.nodes->push_back(*state.find_node(node_name));
      }
    }
    return prepared;
  }
  PostFilterResult post_filter(FilterSession&) const override {
    log_->push_back("postfilter " + name_);
    return script_.post_filter;
  }
  PermitResult permit(const PodPtr&, NodeId, const ClusterState&) override {
    log_->push_back("permit " + name_);
    return script_.permit;
  }
  Effects unreserve(const PodPtr&, NodeId, const ClusterState&) override {
    log_->push_back("unreserve " + name_);
    return {.allow = {}, .reject = {}, .activate = {"from " + name_}};
  }

 private:
  std::string name_;
  Script script_;
  Log* log_;
};

class Cycle : public testing::Test {
 protected:
  void plugin(std::string name, Script script, std::int64_t weight = 1) {
    profile.plugins.push_back({.name = name, .weight = weight, .args = nullptr});
    const auto added = registry.add(
        name, [this, name, script](const PluginConfig&) -> Result<std::unique_ptr<Plugin>> {
          return std::make_unique<Scripted>(name, script, &log);
        });
    ASSERT_TRUE(added);
  }
  void nodes(std::initializer_list<const char*> names) {
    for (const char* name : names) {
      state.set_node(node(name).gpus(8).platform("dgx-h100").build());
    }
  }
  Decision decide(CycleOptions options = {}) {
    auto made = Framework::make(profile, registry);
    BERTH_ASSERT(made, to_string(made.error()));
    framework.emplace(std::move(*made));
    log.clear();
    return schedule_one(*framework, state, state.describe(pod("p").build()), options);
  }

  Log log;
  Registry registry = builtin_plugins();
  Profile profile = test::profile_of(std::vector<ProfilePlugin>{});
  std::optional<Framework> framework;
  ClusterState state;
};

const Points kFilter = static_cast<Points>(Point::Filter);
const Points kScore = static_cast<Points>(Point::Score);
const Points kReserve = static_cast<Points>(Point::Reserve);
const Points kPermit = static_cast<Points>(Point::Permit);
const Points kPostFilter = static_cast<Points>(Point::PostFilter);

TEST_F(Cycle, AnEmptyClusterWaitsForANode) {
  plugin("A", {.points = kFilter});
  const Decision decision = decide();
  EXPECT_EQ(decision.outcome, Outcome::Unschedulable);
  EXPECT_EQ(decision.message, "no nodes available to schedule pods");
  EXPECT_THAT(decision.unschedulable_plugins, ElementsAre("A"));
}

TEST_F(Cycle, TheFirstFailingFilterDecidesANode) {
  nodes({"a", "b"});
  plugin("A", {.points = kFilter, .filter = {{"a", Verdict::unschedulable(1)}}});
  plugin("B", {.points = kFilter,
               .filter = {{"a", Verdict::unresolvable(2)}, {"b", Verdict::unresolvable(3)}}});
  const Decision decision = decide();
  EXPECT_EQ(decision.message, "0/2 nodes are available: 1 A says 1, 1 B says 3.");
  EXPECT_THAT(decision.unschedulable_plugins, ElementsAre("A", "B"));
  EXPECT_EQ(state.assumed_count(), 0U);
}

TEST_F(Cycle, PendingPluginsAreNamedApart) {
  nodes({"a"});
  plugin("A", {.points = kFilter, .filter = {{"a", {StatusCode::Pending, 1}}}});
  const Decision decision = decide();
  EXPECT_THAT(decision.pending_plugins, ElementsAre("A"));
  EXPECT_THAT(decision.unschedulable_plugins, IsEmpty());
}

TEST_F(Cycle, AFilterErrorEndsTheCycle) {
  nodes({"a", "b"});
  plugin("A", {.points = kFilter, .filter = {{"a", {StatusCode::Error, 1}}}});
  const Decision decision = decide();
  EXPECT_EQ(decision.outcome, Outcome::Error);
  EXPECT_EQ(decision.message, "running Filter plugin \"A\": A says 1");
  EXPECT_THAT(decision.unschedulable_plugins, IsEmpty()) << "errors are retried by backoff";
}

TEST_F(Cycle, SkipInPreFilterSkipsTheFilterButNotTheScore) {
  nodes({"a", "b"});
  plugin("A", {.points = kFilter | kScore,
               .prefilter = Status::skip(),
               .filter = {{"a", Verdict::unschedulable(1)}, {"b", Verdict::unschedulable(1)}},
               .score = {{"b", 5}}});
  EXPECT_EQ(decide().node_name, "b");
}

TEST_F(Cycle, UnschedulableInPreFilterKeepsAskingUnresolvableStops) {
  nodes({"a"});
  plugin("A", {.points = kFilter, .prefilter = Status::of(StatusCode::Unschedulable, "first")});
  plugin("B", {.points = kFilter, .prefilter = Status::of(StatusCode::Unschedulable, "second")});
  Decision decision = decide();
  EXPECT_EQ(decision.message, "0/1 nodes are available: second.");
  EXPECT_THAT(decision.unschedulable_plugins, ElementsAre("B")) << "the last one wins";
  plugin("C", {.points = kFilter, .prefilter = Status::of(StatusCode::Unresolvable, "third")});
  plugin("D", {.points = kFilter, .prefilter = Status::of(StatusCode::Unschedulable, "fourth")});
  EXPECT_EQ(decide().message, "0/1 nodes are available: third.");
  EXPECT_THAT(log, ElementsAre("prepare A", "prepare B", "prepare C"));
}

TEST_F(Cycle, PostFilterRunsAfterPreFilterRejects) {
  nodes({"a"});
  plugin("A", {.points = kFilter, .prefilter = Status::of(StatusCode::Unresolvable, "no")});
  PostFilterResult post;
  post.status = Status::of(StatusCode::Unschedulable, "nor after");
  plugin("P", {.points = kPostFilter, .post_filter = post});
  EXPECT_EQ(decide().message, "0/1 nodes are available: no. nor after");
  EXPECT_EQ(decide({.post_filter = PostFilters::Skip}).message, "0/1 nodes are available: no.");
}

TEST_F(Cycle, APreFilterErrorNamesThePlugin) {
  nodes({"a"});
  plugin("A", {.points = kFilter, .prefilter = Status::of(StatusCode::Error, "broke")});
  const Decision decision = decide();
  EXPECT_EQ(decision.outcome, Outcome::Error);
  EXPECT_EQ(decision.message, "running PreFilter plugin \"A\": broke");
}

TEST_F(Cycle, NodeSetsAreIntersected) {
  nodes({"a", "b", "c"});
  plugin("A", {.points = kFilter, .nodes = {{"a", "b"}}});
  plugin("B", {.points = kFilter, .nodes = {{"b", "c"}}});
  EXPECT_EQ(decide().node_name, "b");
}

TEST_F(Cycle, ContradictingNodeSetsNameBothPlugins) {
  nodes({"a", "b"});
  plugin("B", {.points = kFilter, .nodes = {{"a"}}});
  plugin("A", {.points = kFilter, .nodes = {{"b"}}});
  const Decision decision = decide();
  EXPECT_EQ(decision.message,
            "0/2 nodes are available: node(s) didn't satisfy plugin(s) [A B] simultaneously.");
  EXPECT_THAT(decision.unschedulable_plugins, ElementsAre("A", "B"));
}

TEST_F(Cycle, TotalsAreWeighted) {
  nodes({"a", "b"});
  plugin("A", {.points = kScore, .score = {{"a", 100}, {"b", 40}}});
  plugin("B", {.points = kScore, .score = {{"a", 0}, {"b", 40}}}, 2);
  const Decision decision = decide({.explain = Explain::Table});
  EXPECT_EQ(decision.node_name, "b");
  EXPECT_THAT(decision.table->score_plugins, ElementsAre("A", "B"));
  EXPECT_THAT(decision.table->rows[1].raw, ElementsAre(40, 40));
  EXPECT_THAT(decision.table->rows[1].weighted, ElementsAre(40, 80));
  EXPECT_EQ(decision.table->rows[1].total, 120);
}

TEST_F(Cycle, ASingleFeasibleNodeIsNotScored) {
  nodes({"a", "b"});
  plugin("A", {.points = kFilter, .filter = {{"a", Verdict::unschedulable()}}});
  plugin("B", {.points = kScore, .score = {{"b", 1000}}});
  EXPECT_EQ(decide().node_name, "b");
}

TEST_F(Cycle, ScoresOutsideTheRangeAreErrors) {
  nodes({"a", "b"});
  plugin("A", {.points = kScore, .score = {{"b", 101}}});
  const Decision decision = decide();
  EXPECT_EQ(decision.outcome, Outcome::Error);
  EXPECT_THAT(decision.message, HasSubstr("plugin \"A\" returns an invalid score 101"));
}

TEST_F(Cycle, PreScoreSkipLeavesThePluginOut) {
  nodes({"a", "b"});
  plugin("A", {.points = kScore, .score = {{"b", 1000}}, .pre_score = Status::skip()});
  EXPECT_EQ(decide().node_name, "a");
}

TEST_F(Cycle, TiesGoToTheLowestIndexOrToTheSeed) {
  nodes({"a", "b", "c"});
  EXPECT_EQ(decide().node_name, "a");
  std::map<std::string, int> seen;
  Rng rng(3);
  for (int i = 0; i < 60; ++i) {
    state.forget("default/p");
    ++seen[decide({.tie_break = TieBreak::Random, .rng = &rng}).node_name];
  }
  EXPECT_EQ(seen.size(), 3U);
}

// ---- reserve and permit
// ---------------------------------------------------------------------------------

TEST_F(Cycle, ReservedGpusAreHeldAndWritten) {
  nodes({"a"});
  plugin("A", {.points = kReserve, .gpus = 0b101});
  const Decision decision = decide();
  EXPECT_EQ(decision.outcome, Outcome::Scheduled);
  EXPECT_EQ(decision.gpus, 0b101U);
  EXPECT_THAT(decision.annotations, ElementsAre(Pair("berth.dev/gpu-indices", "0,2")));
  EXPECT_EQ(state.node(decision.node).gpus.held, 0b101U);
  EXPECT_TRUE(state.find_pod("default/p")->assumed);
}

TEST_F(Cycle, AFailedReserveIsUndoneInReverseOrder) {
  nodes({"a"});
  plugin("A", {.points = kReserve, .gpus = 0b1});
  plugin("B", {.points = kReserve, .reserve = Status::of(StatusCode::Unschedulable, "taken")});
  plugin("C", {.points = kReserve});
  const std::string before = state.dump();
  const Decision decision = decide();
  EXPECT_EQ(decision.outcome, Outcome::Unschedulable);
  EXPECT_EQ(decision.message, "0/1 nodes are available: 1 taken.");
  EXPECT_THAT(decision.unschedulable_plugins, ElementsAre("B"));
  EXPECT_TRUE(decision.reserved_then_lost);
  EXPECT_THAT(log, testing::Contains("reserve B"));
  EXPECT_THAT(std::vector(log.end() - 3, log.end()),
              ElementsAre("unreserve C", "unreserve B", "unreserve A"));
  EXPECT_THAT(decision.effects.activate, ElementsAre("from C", "from B", "from A"));
  // The pod was described before: only its resources may be new, and it asks for none.
  EXPECT_EQ(state.dump().substr(0, 40), before.substr(0, 40));
  EXPECT_EQ(state.assumed_count(), 0U);
  EXPECT_EQ(state.node(*state.find_node("a")).gpus.held, 0U);
}

TEST_F(Cycle, PermitMayWaitUpTo15Minutes) {
  nodes({"a"});
  PermitResult patient;
  patient.status.code = StatusCode::Wait;
  patient.timeout = Duration::seconds(30);
  PermitResult endless = patient;
  endless.timeout = Duration::hours(5);
  plugin("A", {.points = kPermit, .permit = patient});
  plugin("B", {.points = kPermit, .permit = endless});
  const Decision decision = decide();
  EXPECT_EQ(decision.outcome, Outcome::Waiting);
  EXPECT_THAT(decision.waits,
              ElementsAre(Pair("A", Duration::seconds(30)), Pair("B", Duration::minutes(15))));
  EXPECT_TRUE(state.find_pod("default/p")->assumed);
}

TEST_F(Cycle, ARejectedPermitStopsAndUndoes) {
  nodes({"a"});
  PermitResult no;
  no.status = Status::of(StatusCode::Unschedulable, "not today");
  no.effects.reject = {"sibling"};
  plugin("A", {.points = kPermit | kReserve, .permit = no});
  plugin("B", {.points = kPermit});
  const Decision decision = decide();
  EXPECT_EQ(decision.message, "0/1 nodes are available: 1 not today.");
  EXPECT_THAT(decision.effects.reject, ElementsAre("sibling"));
  EXPECT_THAT(log, testing::Not(testing::Contains("permit B")));
  EXPECT_EQ(state.pod_count(), 0U);
}

TEST_F(Cycle, UndoDecisionForgetsThePod) {
  nodes({"a"});
  plugin("A", {.points = kReserve, .gpus = 0b1});
  const Decision decision = decide();
  const PodPtr placed = state.find_pod("default/p")->pod;
  const Effects effects = undo_decision(*framework, state, placed, decision.node);
  EXPECT_THAT(effects.activate, ElementsAre("from A"));
  EXPECT_EQ(state.pod_count(), 0U);
  EXPECT_EQ(state.node(decision.node).gpus.held, 0U);
}

// ---- post filter
// ----------------------------------------------------------------------------------------

TEST_F(Cycle, PostFilterReasonsAddUpUntilOneSucceeds) {
  nodes({"a"});
  plugin("F", {.points = kFilter, .filter = {{"a", Verdict::unschedulable(1)}}});
  PostFilterResult no;
  no.status = Status::of(StatusCode::Unschedulable, "cannot");
  plugin("A", {.points = kPostFilter, .post_filter = no});
  no.status.reasons = {"neither"};
  plugin("B", {.points = kPostFilter, .post_filter = no});
  EXPECT_EQ(decide().message, "0/1 nodes are available: 1 F says 1. cannot, neither");
  PostFilterResult yes;
  yes.nominated_node = "a";
  plugin("C", {.points = kPostFilter, .post_filter = yes});
  plugin("D", {.points = kPostFilter, .post_filter = no});
  const Decision decision = decide();
  EXPECT_EQ(decision.message, "0/1 nodes are available: 1 F says 1.");
  EXPECT_EQ(decision.nominated_node, "a");
  EXPECT_EQ(state.nominated_node("default/p"), "a");
  EXPECT_THAT(log, testing::Not(testing::Contains("postfilter D")));
}

TEST_F(Cycle, ANominatedNodeThatFitsIsTakenUnseen) {
  nodes({"a", "b"});
  plugin("A", {.points = kScore, .score = {{"a", 100}}});
  state.nominate(state.describe(pod("p").build()), "b");
  const Decision decision = decide();
  EXPECT_EQ(decision.node_name, "b");
  EXPECT_EQ(decision.feasible_nodes, 1);
  EXPECT_EQ(state.nominated_node("default/p"), "") << "placed pods are nominated no more";
}

// ---- where a plugin is enabled
// ------------------------------------------------------------------------------------------

TEST_F(Cycle, APluginTakesPartOnlyWhereItIsEnabled) {
  nodes({"a", "b"});
  plugin("A", {.points = kFilter | kScore | kReserve | kPermit,
               .filter = {{"b", Verdict::unschedulable(1)}},
               .score = {{"b", 100}}});
  profile.plugins.back().points = kScore | kReserve;
  EXPECT_EQ(decide().node_name, "b") << "its score counts, its filter does not";
  EXPECT_THAT(log, ElementsAre("prepare A", "reserve A"));
  state.forget("default/p");
  profile.plugins.back().points = kFilter;
  EXPECT_EQ(decide().node_name, "a");
  EXPECT_THAT(log, ElementsAre("prepare A"));
}

TEST_F(Cycle, APluginThatDoesNotFilterCannotReject) {
  nodes({"a", "b"});
  plugin("A", {.points = kFilter | kScore,
               .prefilter = Status::of(StatusCode::Unresolvable, "no"),
               .nodes = std::vector<std::string>{"a"},
               .score = {{"b", 100}}});
  EXPECT_FALSE(decide().placed());
  profile.plugins.back().points = kScore;
  EXPECT_EQ(decide().node_name, "b");
}

TEST_F(Cycle, TheQueueIsSortedByWhoMay) {
  Profile two = test::profile_of("NodeName");
  two.plugins.front().points = kFilter;
  EXPECT_THAT(Framework::make(two, registry).error().message, HasSubstr("no plugin sorts"));
}

// ---- profiles
// -------------------------------------------------------------------------------------------

TEST_F(Cycle, BadProfilesAreErrors) {
  const auto error_of = [&](const Profile& bad) {
    return Framework::make(bad, registry).error().message;
  };
  EXPECT_THAT(error_of(test::profile_of("Nonsense")),
              HasSubstr("unknown scheduler plugin \"Nonsense\"; known are"));
  EXPECT_THAT(error_of({.plugins = {{.name = "NodeName"}}}),
              HasSubstr("no plugin sorts the queue"));
  EXPECT_THAT(error_of(test::profile_of({{.name = "NodeName"}, {.name = "NodeName"}})),
              HasSubstr("listed twice"));
  EXPECT_THAT(error_of(test::profile_of({{.name = "NodeName", .weight = -1}})),
              HasSubstr("must not be negative: -1"));
  EXPECT_FALSE(registry.add("NodeName", nullptr));
}

TEST_F(Cycle, BadArgsNameProfilePluginAndField) {
  const auto made = Framework::make(
      test::profile_of({{.name = "InterPodAffinity",
                         .args = boost::json::object{{"hardPodAffinityWeight", 101}}}}),
      registry);
  ASSERT_FALSE(made);
  EXPECT_EQ(to_string(made.error()),
            "hardPodAffinityWeight: profile \"test\": args of plugin InterPodAffinity: Invalid "
            "value: 101: not in valid range [0, 100]");
  const auto none = Framework::make(
      test::profile_of({{.name = "NodeName", .args = boost::json::object{{"x", 1}}}}), registry);
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("plugin NodeName: this plugin takes no args"));
}

TEST_F(Cycle, WeightZeroMeansOne) {
  const auto made =
      Framework::make(test::profile_of({{.name = "ImageLocality", .weight = 0}}), registry);
  EXPECT_EQ(made->find("ImageLocality")->weight, 1);
}

TEST_F(Cycle, DefaultProfileFollowsTheVersion) {
  const auto names = [](const Profile& p) {
    std::vector<std::string> out;
    for (const auto& plugin : p.plugins) {
      out.push_back(plugin.name);
    }
    return out;
  };
  EXPECT_THAT(names(default_profile({.minor = 33})),
              testing::Not(testing::Contains("DynamicResources")));
  EXPECT_THAT(names(default_profile()), testing::Contains("DynamicResources"));
}

} // namespace
} // namespace berth::sched
