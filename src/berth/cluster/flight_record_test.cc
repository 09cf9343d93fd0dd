// The walks of pods as the record sees them: exact on a perfect line, and true, if coarser, on a
// bad one.
#include "berth/cluster/flight_record.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/client/events.h"
#include "berth/client/faulty_client.h"
#include "berth/testing/builders.h"
#include "berth/testing/control_plane.h"

namespace berth::cluster {
namespace {

namespace json = api::json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::array kAllStates = {PodState::Pending,
                                   PodState::Gated,
                                   PodState::Unschedulable,
                                   PodState::Bound,
                                   PodState::ContainerCreating,
                                   PodState::Running,
                                   PodState::Succeeded,
                                   PodState::Failed,
                                   PodState::Deleted};

class FlightRecordTest : public ::testing::Test {
 protected:
  FlightRecordTest() : line(plane.client, plane.loop, Rng(1), {}), start(plane.loop.now()) {
    plane.create(test::node("n1").gpus(8));
  }

  void begin() {
    record = std::make_unique<FlightRecord>(line, plane.loop, nullptr);
    plane.run_for(Duration());
  }
  void wait(std::int64_t ms) { plane.run_for(Duration::millis(ms)); }
  void bind(const std::string& name, const std::string& gpus = "") {
    client::Binding binding{.pod = {"default", name}, .uid = "", .node = "n1", .annotations = {}};
    if (!gpus.empty()) {
      binding.annotations.emplace(model::kGpuIndicesAnnotation, gpus);
    }
    plane.client.bind(binding, [](const Result<api::Object>& answer) {
      ASSERT_TRUE(answer.has_value()) << to_string(answer.error());
    });
    wait(0);
  }
  void status(const std::string& name, json::object fields) {
    plane.patch_status(client::kPods, {"default", name}, std::move(fields));
    wait(0);
  }
  void phase(const std::string& name, std::string_view phase) {
    status(name, {{"phase", phase}, {"startTime", to_rfc3339(plane.loop.now())}});
  }
  void refused(const std::string& name, std::string_view why) {
    status(name, {{"conditions", json::array{json::object{{"type", "PodScheduled"},
                                                          {"status", "False"},
                                                          {"reason", "Unschedulable"},
                                                          {"message", why}}}}});
  }
  void remove_now(const std::string& name) {
    plane.remove(client::kPods, {"default", name}, {.grace_period_seconds = 0});
    wait(0);
  }

  // "Pending 0, Bound 300": states with milliseconds since the start.
  std::vector<std::string> walk(std::size_t i = 0) const {
    std::vector<std::string> out;
    for (const auto& [state, at] : record->pods().at(i)->history) {
      out.push_back(fmt::format("{} {}", to_string(state), (at - start).count_millis()));
    }
    return out;
  }
  std::vector<std::string> marks() const {
    std::vector<std::string> out;
    for (const Mark& mark : record->marks()) {
      out.push_back(fmt::format("{}{} {}{}{}", mark.warning ? "! " : "", mark.object, mark.what,
                                mark.detail.empty() ? "" : ": ", mark.detail));
    }
    return out;
  }

  test::ControlPlane plane;
  client::FaultyClient line;
  TimePoint start;
  std::unique_ptr<FlightRecord> record;
};

TEST_F(FlightRecordTest, AHealthyWalkHasEveryStepAtItsInstant) {
  begin();
  wait(300);
  plane.create(test::pod("p"));
  wait(50);
  bind("p", "0,1,4");
  wait(100);
  phase("p", "Pending"); // the agent has seen it
  wait(600);
  phase("p", "Running");
  wait(60'000);
  phase("p", "Succeeded");
  EXPECT_THAT(walk(), ElementsAre("Pending 300", "Bound 350", "ContainerCreating 450",
                                  "Running 1050", "Succeeded 61050"));
  EXPECT_THAT(marks(),
              ElementsAre("node/n1 Ready", "pod/default/p Pending",
                          "pod/default/p Bound: n1 GPUs 0-1,4", "pod/default/p ContainerCreating",
                          "pod/default/p Running", "pod/default/p Succeeded"));
  const PodWalk& pod = *record->pods()[0];
  EXPECT_EQ(pod.time_in(PodState::Running, plane.loop.now()), Duration::seconds(60));
  EXPECT_EQ(record->last_progress(), plane.loop.now());
}

TEST_F(FlightRecordTest, OneGpuIsOneGpu) {
  begin();
  plane.create(test::pod("p"));
  plane.create(test::pod("q"));
  bind("p", "2");
  bind("q", "no list");
  EXPECT_EQ(record->marks().at(3).detail, "n1 GPU 2");
  EXPECT_EQ(record->marks().at(4).detail, "n1 GPUs no list") << "shown as it is";
}

// creationTimestamp has whole seconds; the record saw the pod come.
TEST_F(FlightRecordTest, WaitingCountsFromTheInstantOfCreation) {
  begin();
  wait(900);
  plane.create(test::pod("p"));
  wait(50);
  bind("p");
  EXPECT_THAT(walk(), ElementsAre("Pending 900", "Bound 950"));
}

TEST_F(FlightRecordTest, APodOlderThanTheRecordIsAsOldAsItSays) {
  wait(2'700);
  plane.create(test::pod("p"));
  wait(10'000);
  begin();
  EXPECT_THAT(walk(), ElementsAre("Pending 2000"));
}

TEST_F(FlightRecordTest, DetoursOfPending) {
  begin();
  plane.create(test::pod("p").gate("example.com/wait"));
  wait(100);
  plane.patch(client::kPods, {"default", "p"},
              json::object{{"spec", json::object{{"schedulingGates", nullptr}}}});
  wait(100);
  refused("p", "0/1 nodes are available: 1 Insufficient cpu.");
  wait(100);
  refused("p", "0/1 nodes are available: 1 Insufficient memory."); // no new state
  wait(100);
  bind("p");
  EXPECT_THAT(walk(),
              ElementsAre("Pending 0", "Gated 0", "Pending 100", "Unschedulable 200", "Bound 400"));
  EXPECT_THAT(marks(),
              ElementsAre("node/n1 Ready", "pod/default/p Pending",
                          "pod/default/p Gated: waiting for scheduling gates: example.com/wait",
                          "pod/default/p Pending",
                          "! pod/default/p Unschedulable: 0/1 nodes are available: 1 "
                          "Insufficient cpu.",
                          "pod/default/p Bound: n1"));
}

TEST_F(FlightRecordTest, AFailureHasItsReason) {
  begin();
  plane.create(test::pod("p").on_node("n1"));
  wait(10);
  status("p", {{"phase", "Failed"}, {"reason", "Evicted"}, {"message", "out of disk"}});
  EXPECT_EQ(marks().back(), "! pod/default/p Failed: Evicted: out of disk");
  EXPECT_THAT(walk(), ElementsAre("Pending 0", "Bound 0", "Failed 10"));
}

TEST_F(FlightRecordTest, DeletionEndsAWalkUnlessItHadEnded) {
  begin();
  plane.create(test::pod("done"));
  plane.create(test::pod("cut-short"));
  bind("done");
  bind("cut-short");
  phase("done", "Succeeded");
  wait(100);
  remove_now("done");
  remove_now("cut-short");
  EXPECT_THAT(walk(0), ElementsAre("Pending 0", "Bound 0", "Succeeded 0"));
  EXPECT_THAT(walk(1), ElementsAre("Pending 0", "Bound 0", "Deleted 100"));
  EXPECT_EQ(record->pods()[1]->last.meta().name, "cut-short") << "kept";
}

TEST_F(FlightRecordTest, APodOfTheSameNameIsAnotherPod) {
  begin();
  plane.create(test::pod("p"));
  wait(100);
  remove_now("p");
  plane.create(test::pod("p"));
  wait(0);
  ASSERT_THAT(record->pods(), SizeIs(2));
  EXPECT_THAT(walk(0), ElementsAre("Pending 0", "Deleted 100"));
  EXPECT_THAT(walk(1), ElementsAre("Pending 100"));
}

TEST_F(FlightRecordTest, WhatHappenedBehindACutLineIsSeenAtItsEnd) {
  begin();
  plane.create(test::pod("p"));
  plane.create(test::pod("gone"));
  wait(100);
  line.disconnect();
  bind("p");
  phase("p", "Running");
  remove_now("gone");
  wait(5'000);
  line.reconnect();
  wait(60'000);
  const PodWalk& pod = *record->pods()[0];
  ASSERT_THAT(pod.history, SizeIs(3)) << "a running pod was bound, seen or not";
  EXPECT_EQ(pod.history[1].first, PodState::Bound);
  EXPECT_EQ(pod.history[2].first, PodState::Running);
  EXPECT_EQ(pod.history[1].second, pod.history[2].second);
  EXPECT_GE(pod.history[1].second - start, Duration::millis(5'100)) << "when it was learnt";
  EXPECT_EQ(record->pods()[1]->state, PodState::Deleted);
}

TEST_F(FlightRecordTest, NodesJobsAndGroupsLeaveMarks) {
  begin();
  plane.create(test::job("j"));
  plane.create(test::pod_group("g", 2));
  wait(0);
  plane.patch_status(client::kPodGroups, {"default", "g"}, json::object{{"phase", "Running"}});
  plane.patch_status(
      client::kJobs, {"default", "j"},
      json::object{
          {"startTime", to_rfc3339(plane.loop.now())},
          {"conditions",
           json::array{json::object{{"type", "FailureTarget"}, {"status", "True"}},
                       json::object{{"type", "Failed"}, {"status", "True"}, {"message", "why"}}}}});
  plane.patch_status(client::kNodes, {"", "n1"},
                     json::object{{"conditions", json::array{json::object{
                                                     {"type", "Ready"}, {"status", "Unknown"}}}}});
  wait(0);
  plane.remove(client::kNodes, {"", "n1"});
  wait(0);
  EXPECT_THAT(marks(), ::testing::UnorderedElementsAre(
                           "node/n1 Ready", "job/default/j Created", "podgroup/default/g Created",
                           "podgroup/default/g Running", "! job/default/j Failed: why",
                           "! node/n1 NotReady", "! node/n1 Deleted"));
}

TEST_F(FlightRecordTest, EventsThatSayWhatAStateSaysAreLeftOut) {
  begin();
  const api::Object pod = plane.create(test::pod("p"));
  client::EventRecorder events(plane.client, plane.loop, Rng(3), "test");
  events.record(pod, client::EventType::Normal, "Scheduled", "assigned");
  events.record(pod, client::EventType::Warning, "BackOff", "restarting");
  wait(1'000);
  EXPECT_THAT(marks(), ElementsAre("node/n1 Ready", "pod/default/p Pending",
                                   "! pod/default/p BackOff: restarting"));
  EXPECT_EQ(record->last_progress(), start) << "an event is no progress";
}

// ---- on a bad line -----------------------------------------------------------------------------

// A pod's states in truth, one step each: none is ever left for an earlier one.
void step(test::ControlPlane& plane, const std::string& name, Rng& rng) {
  const api::Key key{"default", name};
  const api::Object pod = plane.find(client::kPods, key);
  const std::string_view phase = pod ? api::string_at(pod.json(), "status.phase") : "";
  if (!pod) {
    return;
  }
  if (api::string_at(pod.json(), "spec.nodeName").empty()) {
    plane.client.bind({.pod = key, .uid = "", .node = "n1", .annotations = {}},
                      [](const Result<api::Object>&) {});
  } else if (api::find_path(pod.json(), "status.startTime") == nullptr) {
    plane.patch_status(client::kPods, key,
                       json::object{{"startTime", to_rfc3339(plane.loop.now())}});
  } else if (phase == "Pending") {
    plane.patch_status(client::kPods, key, json::object{{"phase", "Running"}});
  } else if (phase == "Running" && !rng.chance(1, 3)) {
    plane.patch_status(client::kPods, key,
                       json::object{{"phase", rng.chance(1, 2) ? "Succeeded" : "Failed"}});
  } else {
    plane.remove(client::kPods, key, {.grace_period_seconds = 0});
  }
}

void follow(std::uint64_t seed) {
  SCOPED_TRACE(fmt::format("seed {}", seed));
  Rng rng(seed);
  test::ControlPlane plane(seed);
  plane.create(test::node("n1"));
  client::FaultyClient line(plane.client, plane.loop, rng.fork(1),
                            {.longest_delay = Duration::millis(rng.between(0, 3'000)),
                             .failed_read_permille = static_cast<unsigned>(rng.below(300)),
                             .duplicate_permille = static_cast<unsigned>(rng.below(400)),
                             .reorder_permille = static_cast<unsigned>(rng.below(600)),
                             .lose_permille = static_cast<unsigned>(rng.below(100)),
                             .expire_permille = static_cast<unsigned>(rng.below(100))});
  FlightRecord record(line, plane.loop, nullptr);
  for (int i = 0; i < 60; ++i) {
    const std::string name = fmt::format("p{}", rng.below(4));
    if (!plane.find(client::kPods, {"default", name})) {
      plane.create(test::pod(name));
    } else {
      step(plane, name, rng);
    }
    plane.run_for(Duration::millis(rng.between(0, 700)));
  }
  line.set_faults({});
  ASSERT_TRUE(plane.settle());

  std::map<std::string, api::Object> live;
  for (const api::Object& pod : plane.all(client::kPods)) {
    live.emplace(pod.meta().uid, pod);
  }
  std::set<std::string> seen;
  for (const auto& walk : record.pods()) {
    const std::string& uid = walk->last.meta().uid;
    SCOPED_TRACE(walk->key.to_string() + " " + uid);
    EXPECT_TRUE(seen.insert(uid).second) << "one walk a pod";
    EXPECT_TRUE(std::ranges::is_sorted(walk->history, {}, [](const auto& e) { return e.second; }));
    EXPECT_TRUE(std::ranges::is_sorted(walk->history, {}, [](const auto& e) { return e.first; }))
        << "no state is left for an earlier one";
    Duration sum;
    for (const PodState state : kAllStates) {
      sum += walk->time_in(state, plane.loop.now());
    }
    EXPECT_EQ(sum, plane.loop.now() - walk->history.front().second) << "the lifetime, no more";
    EXPECT_EQ(walk->state, walk->history.back().first);
    const auto truth = live.find(uid);
    if (truth == live.end()) {
      EXPECT_GE(walk->state, PodState::Succeeded) << "it is gone";
    } else {
      EXPECT_EQ(walk->last.bytes(), truth->second.bytes());
    }
  }
  for (const auto& [uid, pod] : live) {
    EXPECT_TRUE(seen.contains(uid)) << pod.key().to_string();
  }
}

TEST(FlightRecordUnderFaults, WalksStayTrue) {
  for (std::uint64_t seed = 1; seed <= 200 && !::testing::Test::HasFailure(); ++seed) {
    follow(seed);
  }
}

} // namespace
} // namespace berth::cluster
