// GangPreemption in the scheduler process, with the profile of examples/preemption: gangs that
// displace others, and that leave them alone.
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/scheduler/scheduler.h"
#include "berth/scheduler/scheduler_config.h"
#include "berth/testing/builders.h"
#include "berth/testing/control_plane.h"
#include "berth/testing/golden_text.h"

namespace berth::scheduler {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

class GangPreemptionProcess : public ::testing::Test {
 protected:
  GangPreemptionProcess() {
    const std::string file = "examples/preemption/scheduler.yaml";
    const auto config = read_config(testing::read_source_file(file), file, "topology");
    EXPECT_TRUE(config) << to_string(config.error());
    auto started = Scheduler::start(plane.client, plane.loop, Rng(5), options_of(*config));
    EXPECT_TRUE(started) << to_string(started.error());
    scheduler = *std::move(started);
    plane.create(test::priority_class("high", 1000));
  }

  void nodes(int count) {
    for (int i = 1; i <= count; ++i) {
      plane.create(
          test::node(fmt::format("n{}", i)).platform("dgx-h100").gpus(8).cpu("200").pods(110));
    }
  }
  /// Members NAME-0, NAME-1, ... with eight GPUs each.
  void gang(const std::string& name, int members, const std::string& priority = "") {
    if (!plane.find(client::kPodGroups, {"default", name})) {
      plane.create(test::pod_group(name, members));
    }
    for (int i = 0; i < members; ++i) {
      test::PodBuilder made = test::pod(fmt::format("{}-{}", name, i)).gpus(8).in_group(name);
      if (!priority.empty()) {
        made.priority_class(priority);
      }
      plane.create(made);
    }
  }
  void wait(std::int64_t ms) { plane.run_for(Duration::millis(ms)); }
  /// What agents do with deleted pods that still run.
  std::set<std::string> end_deleted() {
    std::set<std::string> ended;
    for (const api::Object& pod : plane.all(client::kPods)) {
      if (pod.meta().deletion_timestamp) {
        ended.insert(pod.meta().name);
        end(pod.meta().name);
      }
    }
    return ended;
  }
  void end(const std::string& name) {
    plane.remove(client::kPods, {"default", name}, {.grace_period_seconds = 0});
  }
  std::string at(const std::string& name, std::string_view path) const {
    return std::string(api::string_at(plane.find(client::kPods, {"default", name}).json(), path));
  }
  std::string node_of(const std::string& name) const { return at(name, "spec.nodeName"); }
  std::set<std::string> nodes_of(const std::string& name, int members) const {
    std::set<std::string> found;
    for (int i = 0; i < members; ++i) {
      found.insert(node_of(fmt::format("{}-{}", name, i)));
    }
    return found;
  }
  std::vector<std::string> messages(std::string_view reason) const {
    std::vector<std::string> found;
    for (const api::Object& event : plane.all(client::kEvents)) {
      if (api::string_at(event.json(), "reason") == reason) {
        found.emplace_back(api::string_at(event.json(), "note"));
        found.emplace_back(api::string_at(event.json(), "message"));
      }
    }
    return found;
  }

  /// The line of docs/preemption.md that begins so.
  static std::string guide_says(const std::string& begin) {
    const std::string guide = testing::read_source_file("docs/preemption.md");
    const std::size_t at = guide.find("\n" + begin);
    EXPECT_NE(at, std::string::npos) << begin;
    return guide.substr(at + 1, guide.find('\n', at + 1) - at - 1);
  }

  test::ControlPlane plane;
  std::unique_ptr<Scheduler> scheduler;
};

TEST_F(GangPreemptionProcess, AHighGangDisplacesALowOneAndInTheEndAllArePlaced) {
  nodes(3);
  gang("low", 2);
  wait(10);
  ASSERT_THAT(nodes_of("low", 2), ::testing::Not(Contains("")));
  gang("high", 3, "high");
  wait(10);
  EXPECT_EQ(scheduler->stats().preempted, 2U);
  for (int i = 0; i < 3; ++i) {
    EXPECT_NE(at(fmt::format("high-{}", i), "status.nominatedNodeName"), "") << i;
  }
  const std::string why = guide_says("evicting all of pod group");
  EXPECT_THAT(messages("Preempted"), Contains(AllOf(HasSubstr("Preempted by pod "),
                                                    HasSubstr(" on node n"), HasSubstr(why))));
  EXPECT_THAT(messages("FailedScheduling"), Contains(HasSubstr(why)));
  end("low-0"); // the other one takes longer
  wait(30'000);
  EXPECT_THAT(nodes_of("high", 3), ::testing::ElementsAre("")) << "not before all have room";
  EXPECT_EQ(scheduler->stats().preempted, 2U) << "it waits for the victim";
  EXPECT_EQ(end_deleted(), std::set<std::string>{"low-1"});
  gang("low", 2); // what their Job makes anew
  wait(60'000);
  EXPECT_EQ(nodes_of("high", 3), (std::set<std::string>{"n1", "n2", "n3"}));
  EXPECT_THAT(nodes_of("low", 2), ::testing::ElementsAre(""));
  for (int i = 0; i < 3; ++i) {
    end(fmt::format("high-{}", i));
  }
  wait(60'000);
  EXPECT_EQ(nodes_of("low", 2).size(), 2U);
  EXPECT_THAT(nodes_of("low", 2), ::testing::Not(Contains("")));
  EXPECT_EQ(scheduler->stats().preempted, 2U);
  EXPECT_TRUE(scheduler->idle());
}

TEST_F(GangPreemptionProcess, NobodyGoesInVain) {
  nodes(2);
  gang("low", 2);
  wait(10);
  gang("high", 3, "high");
  wait(600'000);
  EXPECT_EQ(scheduler->stats().preempted, 0U);
  EXPECT_THAT(nodes_of("low", 2), ::testing::Not(Contains("")));
  EXPECT_THAT(messages("FailedScheduling"),
              Contains(HasSubstr(guide_says("preemption: evicting pods"))));
  EXPECT_TRUE(scheduler->idle());
}

TEST_F(GangPreemptionProcess, GangsOfEqualPriorityDoNotChaseEachOther) {
  nodes(2);
  plane.create(test::pod("low-0").gpus(8));
  plane.create(test::pod("low-1").gpus(8));
  wait(10);
  gang("one", 2, "high");
  gang("two", 2, "high");
  wait(10);
  EXPECT_EQ(scheduler->stats().preempted, 2U);
  wait(5'000);
  EXPECT_EQ(end_deleted(), (std::set<std::string>{"low-0", "low-1"}));
  wait(3'600'000);
  EXPECT_EQ(scheduler->stats().preempted, 2U);
  const bool first = !nodes_of("one", 2).contains("");
  EXPECT_NE(first, !nodes_of("two", 2).contains("")) << "exactly one of them runs";
  EXPECT_THAT(nodes_of(first ? "two" : "one", 2), ::testing::ElementsAre(""));
  EXPECT_TRUE(scheduler->idle());
}

TEST_F(GangPreemptionProcess, AMemberBeyondTheQuorumPreemptsAlone) {
  nodes(3);
  plane.create(test::pod("low-0").gpus(8));
  wait(10);
  plane.create(test::pod_group("high", 2));
  gang("high", 3, "high");
  wait(20'000);
  EXPECT_EQ(scheduler->stats().preempted, 1U);
  EXPECT_EQ(end_deleted(), std::set<std::string>{"low-0"});
  wait(60'000);
  EXPECT_EQ(nodes_of("high", 3), (std::set<std::string>{"n1", "n2", "n3"}));
}

TEST_F(GangPreemptionProcess, CountsItsVictimsInTheMetrics) {
  nodes(2);
  gang("low", 2);
  wait(10);
  gang("high", 2, "high");
  wait(10);
  EXPECT_THAT(scheduler->metrics(), HasSubstr("scheduler_preemption_victims_sum 2\n"));
}

} // namespace
} // namespace berth::scheduler
