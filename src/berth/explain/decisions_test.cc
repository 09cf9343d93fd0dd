// A decision's table as values, text and JSON.
#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/explain/decisions_json.h"
#include "berth/explain/decisions_text.h"
#include "berth/testing/scheduling_world.h"

namespace berth::explain {
namespace {

using test::node;
using test::pod;
using test::PodBuilder;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const TimePoint kNow = TimePoint::from_unix_seconds(1'767'225'600);

Attempt explain(test::SchedulingWorld& world, const PodBuilder& wanted) {
  sched::QueuedPod queued{.pod = world.describe(wanted),
                          .timestamp = kNow,
                          .initial_attempt = kNow,
                          .attempts = 1,
                          .woken_by = "PodAdd"};
  const sched::Decision decision = world.decide(wanted, {.explain = sched::Explain::Table});
  return make_attempt(queued, decision, world.state(), "default-scheduler", kNow);
}

std::string text_of(Attempt attempt, report::Column::Show show = report::Column::Show::Always) {
  Book::Pod kept;
  kept.uid = "u";
  kept.attempts.push_back(std::move(attempt));
  return render_pod(kept, kNow, {.show = show});
}

TEST(Attempt, NodesThatShareEverythingAreOneRow) {
  test::SchedulingWorld world;
  for (int i = 1; i <= 40; ++i) {
    world.with(node("small-" + std::to_string(i)).cpu("1").gpus(2));
  }
  world.with(node("big-1").cpu("64").gpus(8)).with(node("big-2").cpu("64").gpus(8));
  const Attempt a = explain(world, pod("p").cpu("8").gpus(4));
  EXPECT_EQ(a.outcome, "Scheduled");
  EXPECT_EQ(a.node, "big-1");
  EXPECT_EQ(a.feasible, 2);
  ASSERT_EQ(a.rows.size(), 3U);
  EXPECT_TRUE(a.rows[0].best);
  EXPECT_THAT(a.rows[0].nodes, ElementsAre("big-1"));
  EXPECT_EQ(a.rows[0].total, a.rows[1].total);
  EXPECT_EQ(a.rows[2].verdict, Verdict::Refused);
  EXPECT_EQ(a.rows[2].nodes.size(), 40U);
  EXPECT_THAT(a.rows[2].objections[0].reasons,
              ElementsAre("Insufficient cpu", "Insufficient nvidia.com/gpu"));
  ASSERT_EQ(a.rows[2].shortages.size(), 2U);
  EXPECT_EQ(a.rows[2].shortages[0].free, 1000);
  EXPECT_EQ(a.rows[2].shortages[0].asked, 8000);
}

TEST(Attempt, TheTotalIsTheSumOfItsScores) {
  test::SchedulingWorld world;
  world.with(node("a").cpu("8")).with(node("b").cpu("64")).with(node("c").cpu("16"));
  const Attempt a = explain(world, pod("p").cpu("4"));
  ASSERT_EQ(a.rows.size(), 3U);
  for (const Row& row : a.rows) {
    std::int64_t sum = 0;
    for (const Score& score : row.scores) {
      sum += score.weighted;
    }
    EXPECT_EQ(sum, row.total);
    EXPECT_EQ(row.scores.size(), a.scorers.size());
  }
  EXPECT_GE(a.rows[0].total, a.rows[1].total);
  EXPECT_GE(a.rows[1].total, a.rows[2].total);
}

TEST(Attempt, AskingDoesNotChangeTheDecision) {
  for (const auto explain_it : {sched::Explain::No, sched::Explain::Table}) {
    test::SchedulingWorld world;
    world.with(node("a").cpu("8")).with(node("b").cpu("64"));
    EXPECT_EQ(world.decide(pod("p").cpu("4"), {.explain = explain_it}).node_name, "b");
  }
}

TEST(Attempt, SaysAllThatIsAgainstANode) {
  test::SchedulingWorld world;
  world.with(node("full").cpu("1").taint("team", "NoSchedule", "a").gpus(8));
  const Attempt a = explain(world, pod("p").cpu("8"));
  EXPECT_EQ(a.outcome, "Unschedulable");
  ASSERT_EQ(a.rows.size(), 1U);
  ASSERT_EQ(a.rows[0].objections.size(), 2U);
  EXPECT_EQ(a.rows[0].objections[0].plugin, "TaintToleration") << "it refused";
  EXPECT_EQ(a.rows[0].objections[1].plugin, "NodeResourcesFit") << "it would have";
}

TEST(DecisionText, ThousandsOfNodesAreAPage) {
  test::SchedulingWorld world;
  for (int i = 1; i <= 5000; ++i) {
    world.with(
        node("n-" + std::to_string(i)).cpu(std::to_string(8 + i % 37)).gpus(i % 3 == 0 ? 8 : 2));
  }
  const Attempt a = explain(world, pod("p").cpu("4").gpus(4));
  const std::string page = text_of(a);
  EXPECT_LT(std::ranges::count(page, '\n'), 45) << page;
  EXPECT_THAT(page, HasSubstr("(-o wide shows them)"));
  EXPECT_THAT(text_of(a, report::Column::Show::Wide), Not(HasSubstr("-o wide")));
}

TEST(DecisionText, SaysWhyTheBestNodeWonAndWhatRefusedLack) {
  test::SchedulingWorld world;
  world.with(node("a").cpu("8").gpus(8)).with(node("b").cpu("64").gpus(8)).with(node("c").cpu("2"));
  const std::string page = text_of(explain(world, pod("p").cpu("4").gpus(4)));
  EXPECT_THAT(page,
              HasSubstr("DECISION  default/p  attempt 1 of 1 at 0:00:00.000: Scheduled on b"));
  EXPECT_THAT(page, HasSubstr("woken by PodAdd; 2 of 3 nodes fit"));
  EXPECT_THAT(page, HasSubstr("more than a: "));
  EXPECT_THAT(page, HasSubstr("* b"));
  EXPECT_THAT(page, HasSubstr("asks for 4 cpu, 2 left; 4 nvidia.com/gpu, none left"));
}

TEST(DecisionText, ASingleNodeIsNotScored) {
  test::SchedulingWorld world;
  world.with(node("a").cpu("8"));
  EXPECT_THAT(text_of(explain(world, pod("p").cpu("4"))),
              HasSubstr("a is the only node that fits, so nothing was scored"));
}

TEST(DecisionText, AttemptsThatCameToTheSameAreOneLine) {
  Book::Pod kept;
  kept.uid = "u";
  for (int i = 1; i <= 4; ++i) {
    Attempt a;
    a.ns = "ns";
    a.pod = "p";
    a.number = i;
    a.at = kNow + Duration::minutes(i);
    a.outcome = "Unschedulable";
    a.message = i < 4 ? "no room" : "still no room";
    a.woken_by = "NodeAdd";
    kept.attempts.push_back(a);
  }
  const std::string page = render_pod(kept, kNow, {});
  EXPECT_THAT(page, HasSubstr("attempt 1 of 4 at 0:01:00.000"));
  EXPECT_THAT(
      page, HasSubstr("  attempts 2 to 3, the last at 0:03:00.000, woken by NodeAdd: the same\n"));
  EXPECT_THAT(page, HasSubstr("attempt 4 of 4 at 0:04:00.000"));
}

TEST(DecisionText, ControlCharactersStayHarmless) {
  Attempt a;
  a.ns = "ns";
  a.pod = "p\x1b[2J";
  a.at = a.first = kNow;
  a.outcome = "Error";
  a.message = "bad\x07 text";
  const std::string page = text_of(a);
  EXPECT_EQ(page.find('\x1b'), std::string::npos);
  EXPECT_EQ(page.find('\x07'), std::string::npos);
}

TEST(DecisionJson, HoldsTheTable) {
  test::SchedulingWorld world;
  world.with(node("a").cpu("8")).with(node("b").cpu("1"));
  Book book({*Wanted::parse("p")});
  book.add("u", explain(world, pod("p").cpu("4")));
  const boost::json::value list = book_document(book, [](const Book::Pod&) { return true; });
  EXPECT_EQ(list.at("kind").as_string(), "DecisionList");
  EXPECT_EQ(list.at_pointer("/items/0/name").as_string(), "p");
  EXPECT_EQ(list.at_pointer("/items/0/attempts/0/node").as_string(), "a");
  EXPECT_EQ(list.at_pointer("/items/0/attempts/0/at").as_string(), "2026-01-01T00:00:00Z");
  EXPECT_EQ(list.at_pointer("/items/0/attempts/0/rows/0/verdict").as_string(), "fits");
  EXPECT_EQ(list.at_pointer("/items/0/attempts/0/rows/1/objections/0/plugin").as_string(),
            "NodeResourcesFit");
  EXPECT_EQ(list.at_pointer("/items/0/attempts/0/rows/1/shortages/0/mostFree").as_int64(), 1000);
}

} // namespace
} // namespace berth::explain
