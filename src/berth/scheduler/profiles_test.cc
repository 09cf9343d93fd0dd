// Several profiles in one scheduler: each decides its own pods, all share nodes and queue.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/api/json.h"
#include "berth/model/workload.h"
#include "berth/scheduler/scheduler.h"
#include "berth/testing/builders.h"
#include "berth/testing/control_plane.h"

namespace berth::scheduler {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

sched::Profile named(std::string name) {
  sched::Profile profile = berth_profile();
  profile.scheduler_name = std::move(name);
  profile.other_names.clear();
  return profile;
}

sched::ProfilePlugin& plugin(sched::Profile& profile, std::string_view name) {
  return *std::ranges::find(profile.plugins, name, &sched::ProfilePlugin::name);
}

/// Fills the fullest node; "roomy" is as Berth's own.
sched::Profile packing() {
  sched::Profile profile = named("packing");
  plugin(profile, "NodeResourcesFit").args = api::json::object{
      {"scoringStrategy",
       api::json::object{{"type", "MostAllocated"},
                         {"resources", api::json::array{api::json::object{{"name", "cpu"}}}}}}};
  plugin(profile, "NodeResourcesFit").weight = 100;
  return profile;
}

class Profiles : public testing::Test {
 protected:
  void start(std::vector<sched::Profile> profiles) {
    auto started = Scheduler::start(plane.client, plane.loop, Rng(5),
                                    {.profiles = std::move(profiles), .queue = {}});
    ASSERT_TRUE(started.has_value()) << to_string(started.error());
    scheduler = *std::move(started);
  }
  void cpu_node(const std::string& name) {
    plane.create(test::node(name).cpu("16").memory("64Gi").pods(110));
  }
  static test::PodBuilder pod_of(const std::string& name, std::string_view scheduler_name) {
    return test::pod(name).cpu("2").memory("1Gi").scheduler(scheduler_name);
  }
  void wait(std::int64_t ms) { plane.run_for(Duration::millis(ms)); }
  std::string node_of(const std::string& name) const {
    return std::string(
        api::string_at(plane.find(client::kPods, {"default", name}).json(), "spec.nodeName"));
  }
  std::vector<std::string> events() const {
    std::vector<std::string> out;
    for (const api::Object& event : plane.all(client::kEvents)) {
      out.push_back(fmt::format("{}: {} {}", api::string_at(event.json(), "source.component"),
                                api::string_at(event.json(), "reason"),
                                api::string_at(event.json(), "involvedObject.name")));
    }
    return out;
  }

  test::ControlPlane plane;
  std::unique_ptr<Scheduler> scheduler;
};

TEST_F(Profiles, DecideTheirOwnPods) {
  cpu_node("n1");
  cpu_node("n2");
  start({named("roomy"), packing()});
  for (const char* name : {"r1", "r2", "r3", "r4"}) {
    plane.create(pod_of(name, "roomy"));
    wait(10);
  }
  EXPECT_THAT((std::vector{node_of("r1"), node_of("r2"), node_of("r3"), node_of("r4")}),
              UnorderedElementsAre("n1", "n1", "n2", "n2"));
  plane.create(pod_of("r5", "roomy"));
  wait(10);
  const std::string fuller = node_of("r5");
  for (const char* name : {"p1", "p2"}) {
    plane.create(pod_of(name, "packing"));
    wait(10);
    EXPECT_EQ(node_of(name), fuller) << name;
  }
  plane.create(pod_of("r6", "roomy"));
  wait(10);
  EXPECT_NE(node_of("r6"), fuller) << "it sees what the other profile placed";
  EXPECT_THAT(events(), Contains("roomy: Scheduled r1"));
  EXPECT_THAT(events(), Contains("packing: Scheduled p1"));
}

TEST_F(Profiles, LeaveOtherPodsAlone) {
  cpu_node("n1");
  start({named("roomy"), packing()});
  plane.create(pod_of("p", "default-scheduler"));
  plane.create(pod_of("q", "berth-scheduler"));
  wait(60'000);
  EXPECT_EQ(node_of("p"), "");
  EXPECT_EQ(node_of("q"), "");
  EXPECT_THAT(events(), ElementsAre());
  EXPECT_TRUE(scheduler->idle());
  EXPECT_TRUE(scheduler->schedules("packing"));
  EXPECT_FALSE(scheduler->schedules("default-scheduler"));
}

TEST_F(Profiles, WaitInOneQueue) {
  plane.create(test::priority_class("high", 1000));
  start({named("roomy"), packing()});
  plane.create(pod_of("low", "roomy").cpu("16"));
  plane.create(pod_of("high", "packing").cpu("16").priority_class("high"));
  wait(10);
  EXPECT_THAT(events(), UnorderedElementsAre("roomy: FailedScheduling low",
                                             "packing: FailedScheduling high"));
  cpu_node("n1");
  wait(20'000);
  EXPECT_EQ(node_of("high"), "n1");
  EXPECT_EQ(node_of("low"), "");
}

/// A pod that only the plugin of its own profile rejects waits for what that plugin waits for.
TEST_F(Profiles, WakeTheirOwnPods) {
  sched::Profile blind = named("blind");
  std::erase_if(blind.plugins,
                [](const sched::ProfilePlugin& entry) { return entry.name == "TaintToleration"; });
  plane.create(test::node("n1").cpu("16").memory("64Gi").pods(110).taint("k", "NoSchedule", "v"));
  start({blind, named("sighted")});
  plane.create(pod_of("b", "blind"));
  plane.create(pod_of("s", "sighted"));
  wait(10);
  EXPECT_EQ(node_of("b"), "n1");
  EXPECT_EQ(node_of("s"), "");
  plane.patch(client::kNodes, {"", "n1"},
              api::json::object{{"spec", api::json::object{{"taints", nullptr}}}});
  wait(2'000);
  EXPECT_EQ(node_of("s"), "n1");
}

TEST_F(Profiles, WithoutGangPlacesMembersOneByOne) {
  sched::Profile single = named("single");
  std::erase_if(single.plugins,
                [](const sched::ProfilePlugin& entry) { return entry.name == "Gang"; });
  sched::Profile whole = named("whole");
  plugin(whole, "Gang").points = sched::Point::Filter | sched::Point::Permit |
                                 static_cast<sched::Points>(sched::Point::Reserve);
  cpu_node("n1");
  start({single, whole});
  plane.create(test::pod_group("g", 3));
  plane.create(test::pod_group("h", 3));
  plane.create(pod_of("g1", "single").in_group("g"));
  plane.create(pod_of("h1", "whole").in_group("h"));
  wait(100);
  EXPECT_EQ(node_of("g1"), "n1");
  EXPECT_EQ(node_of("h1"), "") << "its gang is not complete";
}

TEST_F(Profiles, PlaceOnlyTheirOwnMembersOfAGroup) {
  cpu_node("n1");
  start({named("roomy"), packing()});
  plane.create(test::pod_group("g", 2));
  plane.create(pod_of("g1", "roomy").in_group("g"));
  plane.create(pod_of("g2", "roomy").in_group("g"));
  plane.create(pod_of("g3", "packing").in_group("g"));
  plane.create(pod_of("g4", "somebody-else").in_group("g"));
  wait(5'000);
  EXPECT_EQ(node_of("g1"), "n1");
  EXPECT_EQ(node_of("g2"), "n1");
  EXPECT_EQ(node_of("g3"), "n1") << "the group has its quorum";
  EXPECT_EQ(node_of("g4"), "");
  EXPECT_THAT(events(), Contains("packing: Scheduled g3"));
}

TEST_F(Profiles, ThatContradictEachOtherDoNotStart) {
  const auto error_of = [&](std::vector<sched::Profile> profiles) {
    const auto started = Scheduler::start(plane.client, plane.loop, Rng(5),
                                          {.profiles = std::move(profiles), .queue = {}});
    return started ? "" : to_string(started.error());
  };
  EXPECT_THAT(error_of({}), HasSubstr("needs a profile"));
  EXPECT_THAT(error_of({named("a"), named("a")}), HasSubstr("pods of one name: a"));
  EXPECT_THAT(error_of({berth_profile(), named("berth-scheduler")}),
              HasSubstr("pods of one name: berth-scheduler"));
  sched::Profile other = named("b");
  std::erase_if(other.plugins,
                [](const sched::ProfilePlugin& entry) { return entry.name == "Gang"; });
  EXPECT_THAT(error_of({named("a"), other}),
              HasSubstr("sort one queue by different plugins: Gang, PrioritySort"));
}

} // namespace
} // namespace berth::scheduler
