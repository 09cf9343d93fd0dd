#include "berth/controllers/job/job_controller.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/client/faulty_client.h"
#include "berth/controllers/job/pod_fact.h"
#include "berth/controllers/job/state.h"
#include "berth/testing/builders.h"
#include "berth/testing/control_plane.h"

namespace berth::controllers {
namespace {

namespace json = api::json;

using test::FakeKubelet;
using testing::AllOf;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

class JobControllerTest : public testing::Test {
 protected:
  JobControllerTest() { start(); }

  void start() { controller = std::make_unique<JobController>(plane.client, plane.loop, Rng(7)); }
  void kubelet(FakeKubelet::Life life) {
    node = std::make_unique<FakeKubelet>(plane, "n1", [life](const api::Object&) { return life; });
  }

  JobStatus status(const std::string& name = "train") const {
    return (*job_state(plane.find(client::kJobs, {"default", name})))->status;
  }
  std::vector<api::Object> pods() const { return plane.all(client::kPods); }
  std::vector<std::string> reasons() const {
    std::vector<std::string> result;
    for (const api::Object& event : plane.all(client::kEvents)) {
      result.emplace_back(api::string_at(event.json(), "reason"));
    }
    std::ranges::sort(result);
    return result;
  }
  std::int64_t tracked() const {
    return std::ranges::count_if(pods(),
                                 [](const api::Object& pod) { return (*pod_fact(pod))->tracked; });
  }

  test::ControlPlane plane;
  std::unique_ptr<JobController> controller;
  std::unique_ptr<FakeKubelet> node;
};

TEST_F(JobControllerTest, RunsAJobToItsEnd) {
  kubelet({});
  plane.create(test::job("train").completions(3).parallelism(2));
  ASSERT_TRUE(plane.settle());

  const JobStatus end = status();
  EXPECT_NE(end.holds("Complete"), nullptr);
  EXPECT_NE(end.holds("SuccessCriteriaMet"), nullptr);
  EXPECT_EQ(end.succeeded, 3);
  EXPECT_EQ(end.active, 0);
  EXPECT_TRUE(end.start_time.has_value());
  EXPECT_TRUE(end.completion_time.has_value());
  EXPECT_THAT(end.uncounted_succeeded, IsEmpty());
  EXPECT_THAT(pods(), SizeIs(3)) << "finished pods stay";
  EXPECT_EQ(tracked(), 0);
  EXPECT_THAT(reasons(),
              ElementsAre("Completed", "SuccessfulCreate", "SuccessfulCreate", "SuccessfulCreate"));
}

TEST_F(JobControllerTest, PodsCarryWhatKubernetesGivesThem) {
  const api::Object job =
      plane.create(test::job("train").completions(2).parallelism(1).indexed().uses(
          test::pod("t").restart_policy("Never").in_group("gang").label("app", "x")));
  plane.run_for(Duration::seconds(1));
  ASSERT_THAT(pods(), SizeIs(1));
  const api::Object pod = pods()[0];
  EXPECT_THAT(pod.meta().name, AllOf(StartsWith("train-0-"), SizeIs(13)));
  EXPECT_EQ(pod.meta().generate_name, "train-0-");
  const std::string& uid = job.meta().uid;
  const api::Labels labels{{"app", "x"},
                           {"batch.kubernetes.io/controller-uid", uid},
                           {"batch.kubernetes.io/job-completion-index", "0"},
                           {"batch.kubernetes.io/job-name", "train"},
                           {"controller-uid", uid},
                           {"job-name", "train"},
                           {"scheduling.x-k8s.io/pod-group", "gang"}};
  for (const auto& [key, value] : labels) {
    const auto held = pod.meta().labels.find(key);
    ASSERT_NE(held, pod.meta().labels.end()) << key;
    EXPECT_EQ(held->second, value) << key;
  }
  EXPECT_EQ(pod.meta().annotations.at("batch.kubernetes.io/job-completion-index"), "0");
  EXPECT_EQ(api::string_at(pod.json(), "spec.hostname"), "train-0");
  ASSERT_NE(pod.meta().controller(), nullptr);
  EXPECT_EQ(*pod.meta().controller(), api::controller_ref(job));
  EXPECT_THAT(pod.meta().finalizers, ElementsAre("batch.kubernetes.io/job-tracking"));
  EXPECT_THAT(
      api::to_json(*api::find_path(pod.json(), "spec.containers")),
      testing::HasSubstr(
          R"({"name":"JOB_COMPLETION_INDEX","valueFrom":{"fieldRef":{"apiVersion":"v1",)"
          R"("fieldPath":"metadata.annotations['batch.kubernetes.io/job-completion-index']"}}})"));
}

TEST_F(JobControllerTest, GivesUpAtTheBackoffLimitAfterGrowingDelays) {
  kubelet({.runs = Duration::seconds(1), .ends = "Failed"});
  plane.create(test::job("train").completions(1).parallelism(1).backoff_limit(2));
  ASSERT_TRUE(plane.settle());

  const JobStatus end = status();
  ASSERT_NE(end.holds("Failed"), nullptr);
  EXPECT_EQ(end.holds("Failed")->reason, "BackoffLimitExceeded");
  EXPECT_EQ(end.failed, 3);
  std::vector<std::int64_t> created;
  for (const api::Object& pod : pods()) {
    created.push_back((*pod.meta().creation_timestamp - *end.start_time).count_seconds());
  }
  std::ranges::sort(created);
  ASSERT_THAT(created, SizeIs(3));
  EXPECT_GE(created[1] - created[0], 10);
  EXPECT_GE(created[2] - created[1], 20);
  EXPECT_LE(created[2], 40);
}

TEST_F(JobControllerTest, SuspendsAndResumes) {
  kubelet({.runs = Duration::seconds(100)});
  plane.create(test::job("train").completions(2).parallelism(2).backoff_limit(0));
  plane.run_for(Duration::seconds(5));
  EXPECT_EQ(status().active, 2);

  plane.patch(client::kJobs, {"default", "train"},
              json::object{{"spec", json::object{{"suspend", true}}}});
  plane.run_for(Duration::seconds(20));
  EXPECT_THAT(pods(), IsEmpty());
  EXPECT_EQ(status().active, 0);
  EXPECT_EQ(status().failed, 0) << "suspension is no failure, even with backoffLimit 0";
  EXPECT_NE(status().holds("Suspended"), nullptr);

  plane.patch(client::kJobs, {"default", "train"},
              json::object{{"spec", json::object{{"suspend", false}}}});
  ASSERT_TRUE(plane.settle());
  EXPECT_EQ(status().holds("Suspended"), nullptr);
  EXPECT_NE(status().holds("Complete"), nullptr);
}

TEST_F(JobControllerTest, StopsAtTheDeadline) {
  kubelet({.runs = Duration::max()});
  plane.create(test::job("train").completions(2).parallelism(2).active_deadline_seconds(60));
  plane.run_for(Duration::seconds(59));
  EXPECT_EQ(status().active, 2);
  ASSERT_TRUE(plane.settle());
  ASSERT_NE(status().holds("Failed"), nullptr);
  EXPECT_EQ(status().holds("Failed")->reason, "DeadlineExceeded");
  EXPECT_EQ(status().failed, 2);
  EXPECT_THAT(pods(), IsEmpty());
}

TEST_F(JobControllerTest, ForgetsFinishedJobsAfterTheirTtl) {
  kubelet({});
  plane.create(test::job("train").completions(1).parallelism(1).ttl_seconds(300));
  plane.run_for(Duration::seconds(60));
  EXPECT_NE(status().holds("Complete"), nullptr);
  EXPECT_TRUE(plane.find(client::kJobs, {"default", "train"}).meta().finalizers.empty());
  plane.run_for(Duration::seconds(300));
  const api::Object job = plane.find(client::kJobs, {"default", "train"});
  ASSERT_TRUE(job);
  EXPECT_THAT(job.meta().finalizers, ElementsAre("foregroundDeletion"))
      << "the garbage collector's turn";
}

TEST_F(JobControllerTest, ReplacesAPodThatIsDeletedAndCountsItAsFailed) {
  kubelet({.runs = Duration::seconds(30)});
  plane.create(test::job("train").completions(1).parallelism(1));
  plane.run_for(Duration::seconds(5));
  plane.remove(client::kPods, pods()[0].key());
  ASSERT_TRUE(plane.settle());
  EXPECT_EQ(status().failed, 1);
  EXPECT_EQ(status().succeeded, 1);
  EXPECT_NE(status().holds("Complete"), nullptr);
}

TEST_F(JobControllerTest, APodDeletedRightAfterItsEndIsStillCounted) {
  kubelet({.runs = Duration::seconds(5)});
  plane.create(test::job("train").completions(1).parallelism(1));
  plane.run_for(Duration::seconds(2));
  controller.reset();
  plane.run_for(Duration::seconds(60));
  ASSERT_THAT(pods(), SizeIs(1));
  plane.remove(client::kPods, pods()[0].key());
  ASSERT_THAT(pods(), SizeIs(1)) << "held by its finalizer while nobody counts";
  start();
  ASSERT_TRUE(plane.settle());
  EXPECT_EQ(status().succeeded, 1);
  EXPECT_THAT(pods(), IsEmpty());
}

TEST_F(JobControllerTest, LetsThePodsOfADeletedJobGo) {
  kubelet({.runs = Duration::max()});
  plane.create(test::job("train").completions(2).parallelism(2));
  plane.run_for(Duration::seconds(5));
  EXPECT_EQ(tracked(), 2);
  plane.remove(client::kJobs, {"default", "train"});
  ASSERT_TRUE(plane.settle());
  EXPECT_EQ(tracked(), 0);
}

TEST_F(JobControllerTest, LoweredParallelismDeletesTheSurplus) {
  kubelet({.runs = Duration::max()});
  plane.create(test::job("train").completions(9).parallelism(4));
  plane.run_for(Duration::seconds(5));
  plane.patch(client::kJobs, {"default", "train"},
              json::object{{"spec", json::object{{"parallelism", 1}}}});
  ASSERT_TRUE(plane.settle());
  EXPECT_EQ(status().active, 1);
  EXPECT_EQ(status().failed, 0);
  EXPECT_THAT(pods(), SizeIs(1));
}

TEST_F(JobControllerTest, NeedsNoTimersWhilePodsRun) {
  kubelet({.runs = Duration::max()});
  plane.create(test::job("train").completions(4).parallelism(4));
  ASSERT_TRUE(plane.settle());
  EXPECT_EQ(plane.loop.pending(), 0U);
  EXPECT_EQ(status().active, 4);
}

// ---- histories with faults ----------------------------------------------------------------------

struct Expected {
  std::int64_t completions = 0;
  std::int64_t parallelism = 0;
  bool indexed = false;
};

/// One cluster with a bad line between the controller and the API.
class History {
 public:
  explicit History(std::uint64_t seed)
      : rng_(seed), plane_(seed), line_(plane_.client, plane_.loop, rng_.fork(1), {}) {
    expected_ = {.completions = rng_.between(1, 8),
                 .parallelism = rng_.between(1, 5),
                 .indexed = rng_.chance(1, 2)};
    line_.set_faults({.longest_delay = Duration::millis(rng_.between(0, 400)),
                      .conflict_permille = 50,
                      .lost_permille = 30,
                      .unanswered_permille = 30,
                      .failed_read_permille = 20,
                      .duplicate_permille = 50,
                      .reorder_permille = 50,
                      .lose_permille = 10,
                      .expire_permille = 5});
  }

  void run() {
    kubelet_ = std::make_unique<FakeKubelet>(plane_, "n1",
                                             [this](const api::Object& pod) { return life(pod); });
    restart();
    auto builder =
        test::job("train").completions(expected_.completions).parallelism(expected_.parallelism);
    builder.backoff_limit(1000);
    if (expected_.indexed) {
      builder.indexed();
    }
    plane_.create(builder);
    disturb(40);
    for (int step = 0; step < 200'000 && plane_.loop.step(); ++step) {
      check_always();
      if (testing::Test::HasFailure()) {
        return;
      }
    }
    check_end();
  }

 private:
  /// Decided by the pod, so that asking again gives the same answer.
  FakeKubelet::Life life(const api::Object& pod) {
    Rng fate(std::hash<std::string>()(pod.meta().name));
    return {.runs = Duration::millis(fate.between(1, 20'000)),
            .ends = fate.chance(1, 4) ? "Failed" : "Succeeded",
            .stops = Duration::millis(fate.between(1, 3'000))};
  }

  void restart() {
    controller_.reset();
    controller_ = std::make_unique<JobController>(line_, plane_.loop, rng_.fork(rng_.next()));
  }

  void disturb(int times) {
    if (times == 0) {
      // The line gets well, so that the history ends.
      line_.reconnect();
      line_.set_faults({});
      return;
    }
    plane_.loop.after(Duration::millis(rng_.between(1, 5'000)), [this, times] {
      switch (rng_.below(5)) {
      case 0:
        restart();
        break;
      case 1:
        line_.connected() ? line_.disconnect() : line_.reconnect();
        break;
      case 2:
        delete_some_pod();
        break;
      default:
        break;
      }
      disturb(times - 1);
    });
  }

  void delete_some_pod() {
    const auto pods = plane_.all(client::kPods);
    if (!pods.empty()) {
      plane_.remove(client::kPods, pods[rng_.below(pods.size())].key());
    }
  }

  void check_always() {
    std::int64_t active = 0;
    std::map<std::int64_t, int> by_index;
    for (const api::Object& pod : plane_.all(client::kPods)) {
      const auto fact = *pod_fact(pod);
      active += fact->active() ? 1 : 0;
      by_index[fact->index.value_or(-1)] += fact->active() ? 1 : 0;
    }
    ASSERT_LE(active, expected_.parallelism);
    if (expected_.indexed) {
      for (const auto& [index, count] : by_index) {
        ASSERT_LE(count, 1) << "index " << index;
      }
    }
  }

  void check_end() {
    ASSERT_EQ(plane_.loop.pending(), 0U) << "never quiet";
    const JobStatus end = (*job_state(plane_.find(client::kJobs, {"default", "train"})))->status;
    ASSERT_NE(end.holds("Complete"), nullptr);
    if (expected_.indexed) {
      EXPECT_EQ(end.completed_indexes.size(), expected_.completions);
    }
    EXPECT_EQ(end.succeeded, expected_.completions);
    EXPECT_GE(kubelet_->successes(), expected_.completions) << "a success was counted twice";
    EXPECT_EQ(end.active, 0);
    EXPECT_EQ(end.terminating, 0);
    EXPECT_THAT(end.uncounted_succeeded, IsEmpty());
    EXPECT_THAT(end.uncounted_failed, IsEmpty());
    for (const api::Object& pod : plane_.all(client::kPods)) {
      const auto fact = *pod_fact(pod);
      EXPECT_TRUE(fact->terminal()) << fact->name;
      EXPECT_FALSE(fact->tracked) << fact->name;
    }
  }

  Rng rng_;
  test::ControlPlane plane_;
  client::FaultyClient line_;
  Expected expected_;
  std::unique_ptr<FakeKubelet> kubelet_;
  std::unique_ptr<JobController> controller_;
};

TEST(JobControllerHistories, EveryJobEndsWithExactlyItsSuccessesWhateverTheLineDoes) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    History(seed).run();
    if (HasFailure()) {
      return;
    }
  }
}

} // namespace
} // namespace berth::controllers
