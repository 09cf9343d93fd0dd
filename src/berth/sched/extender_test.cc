// Extenders in the deciding wing: what is asked, in which order, and what answers do. No HTTP.
#include "berth/sched/extender.h"

#include <functional>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/rng.h"
#include "berth/testing/scheduling_world.h"

namespace berth::sched {
namespace {

using test::node;
using test::pod;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Extender filtering(std::string url) {
  Extender extender;
  extender.url_prefix = std::move(url);
  extender.filter_verb = "filter";
  return extender;
}

Extender scoring(std::string url, std::int64_t weight) {
  Extender extender;
  extender.url_prefix = std::move(url);
  extender.prioritize_verb = "prioritize";
  extender.weight = weight;
  return extender;
}

using Answers = std::function<Result<ExtenderAnswer>(const ExtenderQuestion&)>;

/// Decides as the process does: asks until there are no questions. Logs "filter 0: a,b".
struct World : test::SchedulingWorld {
  Decision decide_with(const test::PodBuilder& builder, const Answers& answers,
                       CycleOptions options = {}) {
    const PodPtr described = describe(builder);
    ExtenderTalk talk(extenders, *described, state().resource_names());
    options.extenders = talk.empty() ? nullptr : &talk;
    for (int round = 0; round < 20; ++round) {
      Decision decision = schedule_one(framework(), state(), described, options);
      if (decision.questions.empty()) {
        return decision;
      }
      EXPECT_FALSE(decision.placed());
      EXPECT_EQ(state().find_pod(described->uid), nullptr) << "asking changes nothing";
      for (const ExtenderQuestion& question : decision.questions) {
        asked.push_back(fmt::format("{} {}: {}",
                                    question.verb == ExtenderVerb::Filter       ? "filter"
                                    : question.verb == ExtenderVerb::Prioritize ? "prioritize"
                                                                                : "preempt",
                                    question.extender, fmt::join(question.nodes, ",")));
        talk.answer(question, answers(question));
      }
    }
    ADD_FAILURE() << "asks for ever";
    return {};
  }

  std::vector<Extender> extenders;
  std::vector<std::string> asked;
};

Result<ExtenderAnswer> passes_all(const ExtenderQuestion& question) {
  return ExtenderAnswer{
      .nodes = question.nodes, .failed = {}, .unresolvable = {}, .scores = {}, .victims = {}};
}

World three_nodes() {
  World world;
  world.with(node("a").cpu("8")).with(node("b").cpu("8")).with(node("c").cpu("1"));
  return world;
}

TEST(ExtenderFilter, IsAskedAboutNodesThatFitOneAfterTheOther) {
  World world = three_nodes();
  world.extenders = {filtering("x"), filtering("y")};
  const Decision decision = world.decide_with(pod("p").cpu("4"), [](const ExtenderQuestion& q) {
    ExtenderAnswer answer;
    if (q.extender == 0) {
      answer.nodes = {"b"};
      answer.failed = {{"a", "x has no room"}};
    } else {
      answer.nodes = q.nodes;
    }
    return Result<ExtenderAnswer>(answer);
  });
  EXPECT_THAT(world.asked, ElementsAre("filter 0: a,b", "filter 1: b"));
  EXPECT_EQ(decision.node_name, "b");
  EXPECT_EQ(decision.feasible_nodes, 1);
}

TEST(ExtenderFilter, RefusalsAreCountedLikeAPluginsOwn) {
  World world = three_nodes();
  world.extenders = {filtering("x")};
  const Decision decision =
      world.decide_with(pod("p").cpu("4"),
                        [](const ExtenderQuestion&) {
                          ExtenderAnswer answer;
                          answer.failed = {{"a", "no licence"}, {"b", "soft"}};
                          answer.unresolvable = {{"b", "never here"}};
                          return Result<ExtenderAnswer>(answer);
                        },
                        {.explain = Explain::Table});
  EXPECT_EQ(decision.outcome, Outcome::Unschedulable);
  EXPECT_THAT(decision.message, HasSubstr("0/3 nodes are available: 1 Insufficient cpu, 1 never "
                                          "here, 1 no licence."));
  EXPECT_THAT(decision.unschedulable_plugins, ElementsAre("Extender", "NodeResourcesFit"));
  EXPECT_EQ(decision.table->rows[0].status.plugin, "Extender");
  EXPECT_EQ(decision.table->rows[0].status.code, StatusCode::Unschedulable);
  EXPECT_EQ(decision.table->rows[1].status.code, StatusCode::Unresolvable);
}

TEST(ExtenderFilter, AnErrorEndsTheDecisionUnlessIgnorable) {
  const Answers fails = [](const ExtenderQuestion& q) {
    return q.extender == 0 ? Result<ExtenderAnswer>(fail(Code::Unavailable, "down"))
                           : passes_all(q);
  };
  World strict = three_nodes();
  strict.extenders = {filtering("x")};
  const Decision error = strict.decide_with(pod("p").cpu("4"), fails);
  EXPECT_EQ(error.outcome, Outcome::Error);
  EXPECT_EQ(error.message, "down");

  World lenient = three_nodes();
  lenient.extenders = {filtering("x"), filtering("y")};
  lenient.extenders[0].ignorable = true;
  EXPECT_EQ(lenient.decide_with(pod("p").cpu("4"), fails).node_name, "a");
  EXPECT_THAT(lenient.asked, ElementsAre("filter 0: a,b", "filter 1: a,b"));
}

TEST(ExtenderFilter, IsNotAskedAboutPodsWithoutItsResources) {
  World world = three_nodes();
  world.extenders = {filtering("x")};
  world.extenders[0].managed_resources = {{.name = "example.com/gpu"}};
  EXPECT_EQ(world.decide_with(pod("p").cpu("4"), &passes_all).node_name, "a");
  EXPECT_THAT(world.asked, IsEmpty());
  world.with(node("d").cpu("8").resource("example.com/gpu", "2"));
  EXPECT_EQ(
      world.decide_with(pod("q").cpu("1").extended("example.com/gpu", "1"), &passes_all).node_name,
      "d");
  EXPECT_THAT(world.asked, ElementsAre("filter 0: d"));
}

TEST(ExtenderFilter, ANominatedNodeIsAskedAboutAloneAndThenTheOthers) {
  World world = three_nodes();
  world.extenders = {filtering("x")};
  const auto nominated = pod("p").cpu("4").nominated("b");
  EXPECT_EQ(world.decide_with(nominated, &passes_all).node_name, "b");
  EXPECT_THAT(world.asked, ElementsAre("filter 0: b"));

  World refused = three_nodes();
  refused.extenders = {filtering("x")};
  const Decision decision = refused.decide_with(nominated, [](const ExtenderQuestion& q) {
    ExtenderAnswer answer;
    std::ranges::copy_if(q.nodes, std::back_inserter(answer.nodes),
                         [](const std::string& name) { return name != "b"; });
    return Result<ExtenderAnswer>(answer);
  });
  EXPECT_EQ(decision.node_name, "a");
  EXPECT_THAT(refused.asked, ElementsAre("filter 0: b", "filter 0: a"));
}

TEST(ExtenderScore, IsAddedTimesWeightTimesTen) {
  World world = three_nodes();
  world.extenders = {scoring("x", 2), scoring("y", 1)};
  const Decision decision =
      world.decide_with(pod("p").cpu("4"),
                        [](const ExtenderQuestion& q) {
                          ExtenderAnswer answer;
                          answer.scores =
                              q.extender == 0
                                  ? std::map<std::string, std::int64_t, std::less<>>{{"b", 3}}
                                  : std::map<std::string, std::int64_t, std::less<>>{{"a", 5}};
                          return Result<ExtenderAnswer>(answer);
                        },
                        {.explain = Explain::Table});
  EXPECT_THAT(world.asked, ElementsAre("prioritize 0: a,b", "prioritize 1: a,b")) << "at once";
  EXPECT_EQ(decision.node_name, "b") << "3 * 2 * 10 against 5 * 1 * 10";
  const auto& table = *decision.table;
  EXPECT_EQ(table.rows[1].total - table.rows[0].total, 10);
  EXPECT_EQ(table.score_plugins.back(), "Extender y");
  EXPECT_EQ(table.rows[0].weighted.back(), 50);
}

TEST(ExtenderScore, AFailedExtenderScoresNothingAndOneNodeIsNotScored) {
  World world = three_nodes();
  world.extenders = {scoring("x", 1)};
  EXPECT_EQ(world
                .decide_with(pod("p").cpu("4"),
                             [](const ExtenderQuestion&) {
                               return Result<ExtenderAnswer>(fail(Code::Unavailable, "down"));
                             })
                .node_name,
            "a");
  World one;
  one.with(node("a").cpu("8"));
  one.extenders = {scoring("x", 1)};
  EXPECT_EQ(one.decide_with(pod("p").cpu("4"), &passes_all).node_name, "a");
  EXPECT_THAT(one.asked, IsEmpty());
}

/// Two full nodes of low-priority pods.
World full_nodes() {
  World world;
  world.with(node("a").cpu("8")).with(node("b").cpu("8"));
  world.with(pod("a1").cpu("4").priority(1), "a").with(pod("a2").cpu("4").priority(1), "a");
  world.with(pod("b1").cpu("8").priority(5), "b");
  Extender extender;
  extender.url_prefix = "x";
  extender.preempt_verb = "preempt";
  world.extenders = {extender};
  return world;
}

TEST(ExtenderPreempt, MayDropCandidates) {
  World world = full_nodes();
  const Decision decision =
      world.decide_with(pod("p").cpu("4").priority(10), [](const ExtenderQuestion& q) {
        ExtenderAnswer answer;
        answer.victims["b"].uids = {q.victims.at("b").pods.front()->uid};
        return Result<ExtenderAnswer>(answer);
      });
  EXPECT_THAT(world.asked, ElementsAre("preempt 0: a,b"));
  EXPECT_EQ(decision.nominated_node, "b") << "a would have been cheaper";
  ASSERT_EQ(decision.victims.size(), 1U);
  EXPECT_EQ(decision.victims[0]->name(), "b1");
}

TEST(ExtenderPreempt, NoCandidateLeftIsNoPreemption) {
  World world = full_nodes();
  const Decision decision =
      world.decide_with(pod("p").cpu("4").priority(10), [](const ExtenderQuestion&) {
        return Result<ExtenderAnswer>(ExtenderAnswer());
      });
  EXPECT_EQ(decision.outcome, Outcome::Unschedulable);
  EXPECT_THAT(decision.victims, IsEmpty());
}

TEST(ExtenderPreempt, WhatWasNotProposedIsAnError) {
  for (const bool wrong_node : {true, false}) {
    World world = full_nodes();
    const Decision decision =
        world.decide_with(pod("p").cpu("4").priority(10), [&](const ExtenderQuestion&) {
          ExtenderAnswer answer;
          answer.victims[wrong_node ? "elsewhere" : "a"].uids = {"nobody"};
          return Result<ExtenderAnswer>(answer);
        });
    EXPECT_EQ(decision.outcome, Outcome::Error);
    EXPECT_THAT(decision.message, HasSubstr(wrong_node ? "not proposed" : "not on node a"));
  }
}

TEST(ExtenderPreempt, AnIgnorableOneThatFailsIsPassedOver) {
  World world = full_nodes();
  world.extenders[0].ignorable = true;
  const Decision decision =
      world.decide_with(pod("p").cpu("4").priority(10), [](const ExtenderQuestion&) {
        return Result<ExtenderAnswer>(fail(Code::Unavailable, "down"));
      });
  EXPECT_EQ(decision.nominated_node, "a");
}

TEST(ExtenderProperty, AnExtenderThatMindsNothingChangesNothing) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Rng rng(seed);
    World with;
    test::SchedulingWorld without;
    for (int i = 0; i < 8; ++i) {
      const auto n = node(fmt::format("n{}", i)).cpu(std::to_string(1 + rng.below(16)));
      with.with(n);
      without.with(n);
    }
    with.extenders = {filtering("x"), scoring("y", 3)};
    for (int i = 0; i < 20; ++i) {
      const auto p = pod(fmt::format("p{}", i))
                         .cpu(std::to_string(1 + rng.below(6)))
                         .priority(static_cast<int>(rng.below(3)));
      const Decision a = with.decide_with(p, &passes_all);
      const Decision b = without.decide(p);
      ASSERT_EQ(a.outcome, b.outcome) << seed << " " << i;
      ASSERT_EQ(a.node_name, b.node_name) << seed << " " << i;
      ASSERT_EQ(a.message, b.message) << seed << " " << i;
    }
  }
}

} // namespace
} // namespace berth::sched
