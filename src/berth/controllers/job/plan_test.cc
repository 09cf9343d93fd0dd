#include "berth/controllers/job/plan.h"

#include <algorithm>
#include <functional>
#include <ostream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::controllers {

void PrintTo(const PodRemoval& removal, std::ostream* out) {
  *out << removal.name
       << (removal.counting == PodRemoval::Counting::NotCounted ? " uncounted" : " counted");
}
void PrintTo(const PodCreation& creation, std::ostream* out) {
  *out << "index " << creation.index.value_or(-1) << " after " << creation.index_failures
       << " failures";
}
void PrintTo(const JobEvent& event, std::ostream* out) {
  *out << event.reason << ": " << event.message;
}
void PrintTo(const JobCondition& c, std::ostream* out) {
  *out << c.type << "=" << c.status << " " << c.reason;
}

namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr TimePoint kStart = TimePoint::from_unix_seconds(1'700'000'000);
TimePoint at(std::int64_t seconds) {
  return kStart + Duration::seconds(seconds);
}

/// A Job under test, with verbs.
class JobBuilder {
 public:
  JobBuilder() { job_.meta.name = "train"; }
  JobBuilder& completions(std::int64_t n) {
    return with([&] { state_.completions = n; });
  }
  JobBuilder& work_queue() {
    return with([&] { state_.completions.reset(); });
  }
  JobBuilder& parallelism(std::int64_t n) {
    return with([&] { job_.parallelism = n; });
  }
  JobBuilder& indexed() {
    return with([&] { job_.completion_mode = "Indexed"; });
  }
  JobBuilder& backoff_limit(std::int64_t n) {
    return with([&] { state_.backoff_limit = n; });
  }
  JobBuilder& per_index(std::int64_t n) {
    return with([&] { state_.backoff_limit_per_index = n; });
  }
  JobBuilder& max_failed_indexes(std::int64_t n) {
    return with([&] { state_.max_failed_indexes = n; });
  }
  JobBuilder& suspended() {
    return with([&] { job_.suspend = true; });
  }
  JobBuilder& deadline(std::int64_t s) {
    return with([&] { job_.active_deadline_seconds = s; });
  }
  JobBuilder& ttl(std::int64_t s) {
    return with([&] { job_.ttl_seconds_after_finished = s; });
  }
  JobBuilder& deleting() {
    return with([&] { job_.meta.deletion_timestamp = kStart; });
  }
  JobBuilder& on_failure() {
    return with([&] { state_.restart_on_failure = true; });
  }
  JobBuilder& replace_only_terminated() {
    return with([&] { state_.replace_only_terminated = true; });
  }
  JobBuilder& started(std::int64_t s) {
    return with([&] { state_.status.start_time = at(s); });
  }
  JobBuilder& counted(std::int64_t succeeded, std::int64_t failed) {
    return with([&] {
      state_.status.succeeded = succeeded;
      state_.status.failed = failed;
    });
  }
  JobBuilder& completed(const char* indexes) {
    return with([&] { state_.status.completed_indexes = IndexSet::parse(indexes, 1000); });
  }
  JobBuilder& failed_indexes(const char* indexes) {
    return with([&] { state_.status.failed_indexes = IndexSet::parse(indexes, 1000); });
  }
  JobBuilder& uncounted(std::vector<std::string> succeeded, std::vector<std::string> failed) {
    return with([&] {
      state_.status.uncounted_succeeded = std::move(succeeded);
      state_.status.uncounted_failed = std::move(failed);
    });
  }
  JobBuilder& condition(const char* type, const char* status, const char* reason,
                        std::int64_t s = 0) {
    return with([&] {
      state_.status.conditions.push_back({.type = type,
                                          .status = status,
                                          .reason = reason,
                                          .message = "said before",
                                          .last_transition = at(s)});
    });
  }

  JobState build() const {
    JobState state = state_;
    state.job = std::make_shared<model::Job>(job_);
    return state;
  }

 private:
  JobBuilder& with(const std::function<void()>& change) {
    change();
    return *this;
  }
  model::Job job_;
  JobState state_;
};

JobBuilder job() {
  JobBuilder builder;
  builder.completions(1).parallelism(1).started(0);
  return builder;
}

class PodBuilder {
 public:
  explicit PodBuilder(const char* name) {
    fact_.name = name;
    fact_.uid = std::string("uid-") + name;
    fact_.tracked = true;
    fact_.created = kStart;
    fact_.finished_at = kStart;
  }
  PodBuilder& running() { return phase(PodFact::Phase::Running); }
  PodBuilder& ready() {
    fact_.ready = true;
    fact_.ready_since = kStart;
    return running();
  }
  PodBuilder& succeeded(std::int64_t s = 0) { return end(PodFact::Phase::Succeeded, s); }
  PodBuilder& failed(std::int64_t s = 0) { return end(PodFact::Phase::Failed, s); }
  PodBuilder& deleting() {
    fact_.deleting = true;
    return *this;
  }
  PodBuilder& released() {
    fact_.tracked = false;
    return *this;
  }
  PodBuilder& index(std::int64_t i, std::int64_t failures = 0) {
    fact_.index = i;
    fact_.index_failures = failures;
    return *this;
  }
  PodBuilder& restarts(std::int64_t n) {
    fact_.restarts = n;
    return *this;
  }
  std::shared_ptr<const PodFact> build() const { return std::make_shared<PodFact>(fact_); }

 private:
  PodBuilder& phase(PodFact::Phase phase) {
    fact_.phase = phase;
    fact_.assigned = true;
    return *this;
  }
  PodBuilder& end(PodFact::Phase how, std::int64_t s) {
    fact_.finished_at = at(s);
    return phase(how);
  }
  PodFact fact_;
};

PodBuilder pod(const char* name) {
  return PodBuilder(name);
}

JobPlan plan(const JobBuilder& builder, const std::vector<PodBuilder>& pods,
             TimePoint now = at(100)) {
  const JobState state = builder.build();
  PodFacts facts;
  BackoffRecord backoff;
  for (const PodBuilder& p : pods) {
    facts.push_back(p.build());
    backoff.observe(*facts.back());
  }
  return plan_job({.state = state, .pods = facts, .backoff = backoff, .now = now});
}

std::vector<std::string> names(const std::vector<PodRemoval>& removals) {
  std::vector<std::string> result;
  for (const PodRemoval& r : removals) {
    result.push_back(r.name);
  }
  return result;
}

std::vector<std::string> names(const std::vector<PodName>& pods) {
  std::vector<std::string> result;
  for (const PodName& p : pods) {
    result.push_back(p.name);
  }
  return result;
}

std::vector<std::int64_t> indexes(const JobPlan& plan) {
  std::vector<std::int64_t> result;
  for (const PodCreation& c : plan.create) {
    result.push_back(c.index.value_or(-1));
  }
  return result;
}

// ---- how many pods ------------------------------------------------------------------------------

struct CreateCase {
  const char* name;
  JobBuilder job;
  std::vector<PodBuilder> pods;
  std::size_t creates;
  std::vector<std::string> removes;
};

void PrintTo(const CreateCase& c, std::ostream* out) {
  *out << c.name;
}

class PlanPods : public testing::TestWithParam<CreateCase> {};

TEST_P(PlanPods, CreatesAndRemoves) {
  const CreateCase& c = GetParam();
  const JobPlan result = plan(c.job, c.pods);
  EXPECT_THAT(result.create, SizeIs(c.creates));
  EXPECT_EQ(names(result.remove), c.removes);
}

std::vector<PodBuilder> run(std::initializer_list<const char*> running) {
  std::vector<PodBuilder> pods;
  for (const char* name : running) {
    pods.push_back(pod(name).running());
  }
  return pods;
}

INSTANTIATE_TEST_SUITE_P(
    Table, PlanPods,
    testing::Values(
        CreateCase{"new_job_gets_its_pod", job(), {}, 1, {}},
        CreateCase{"parallelism_caps", job().completions(9).parallelism(4), run({"a"}), 3, {}},
        CreateCase{
            "open_completions_cap", job().completions(9).parallelism(4).counted(7, 0), {}, 2, {}},
        CreateCase{
            "running_pods_suffice", job().completions(2).parallelism(4), run({"a", "b"}), 0, {}},
        CreateCase{"lowered_parallelism_removes_in_order",
                   job().completions(9).parallelism(1),
                   {pod("a").ready(), pod("b").running(), pod("c")},
                   0,
                   {"c", "b"}},
        CreateCase{"parallelism_zero_removes_all",
                   job().completions(3).parallelism(0),
                   run({"a", "b"}),
                   0,
                   {"a", "b"}},
        CreateCase{"deleted_pod_is_replaced_after_its_backoff",
                   job(),
                   {pod("a").running().deleting()},
                   1,
                   {}},
        CreateCase{"policy_failed_waits_for_the_end",
                   job().replace_only_terminated(),
                   {pod("a").running().deleting()},
                   0,
                   {}},
        CreateCase{
            "work_queue_fills_parallelism", job().work_queue().parallelism(3), run({"a"}), 2, {}},
        CreateCase{"work_queue_starts_none_after_a_success",
                   job().work_queue().parallelism(3),
                   {pod("a").running(), pod("b").succeeded()},
                   0,
                   {}},
        CreateCase{"suspended_removes_all",
                   job().completions(3).parallelism(3).suspended(),
                   run({"a", "b"}),
                   0,
                   {"a", "b"}},
        CreateCase{"suspended_creates_none", job().suspended(), {}, 0, {}},
        CreateCase{"one_step_is_bounded", job().completions(2000).parallelism(2000), {}, 500, {}},
        CreateCase{
            "finished_job_creates_none", job().condition("Complete", "True", "x"), {}, 0, {}},
        CreateCase{"deleted_job_creates_none", job().deleting(), {}, 0, {}}),
    [](const auto& test) { return test.param.name; });

TEST(PlanPods, SuspensionLosesPodsWithoutCountingThem) {
  const JobPlan result = plan(job().suspended(), {pod("a").running()});
  EXPECT_THAT(result.remove,
              ElementsAre(PodRemoval{"a", "uid-a", PodRemoval::Counting::NotCounted}));
}

// ---- indexes ------------------------------------------------------------------------------------

struct IndexCase {
  const char* name;
  JobBuilder job;
  std::vector<PodBuilder> pods;
  std::vector<std::int64_t> creates;
  std::vector<std::string> removes;
};

void PrintTo(const IndexCase& c, std::ostream* out) {
  *out << c.name;
}

class PlanIndexes : public testing::TestWithParam<IndexCase> {};

TEST_P(PlanIndexes, CreatesAndRemoves) {
  const IndexCase& c = GetParam();
  const JobPlan result = plan(c.job, c.pods);
  EXPECT_EQ(indexes(result), c.creates);
  EXPECT_EQ(names(result.remove), c.removes);
}

JobBuilder indexed(std::int64_t completions, std::int64_t parallelism) {
  return job().indexed().completions(completions).parallelism(parallelism);
}

INSTANTIATE_TEST_SUITE_P(
    Table, PlanIndexes,
    testing::Values(
        IndexCase{"lowest_first", indexed(5, 3), {}, {0, 1, 2}, {}},
        IndexCase{"gaps_are_filled", indexed(5, 3), {pod("b").running().index(1)}, {0, 2}, {}},
        IndexCase{"completed_are_skipped", indexed(5, 2).completed("0,2"), {}, {1, 3}, {}},
        IndexCase{"success_not_stored_yet_is_skipped",
                  indexed(3, 3),
                  {pod("a").succeeded().index(0)},
                  {1, 2},
                  {}},
        IndexCase{"duplicates_keep_the_best",
                  indexed(2, 2),
                  {pod("a").index(0), pod("b").ready().index(0), pod("c").running().index(1)},
                  {},
                  {"a"}},
        IndexCase{"out_of_range_goes",
                  indexed(2, 2),
                  {pod("a").running().index(0), pod("b").running().index(7)},
                  {},
                  {"b"}},
        IndexCase{"without_index_goes", indexed(1, 1), {pod("a").running()}, {}, {"a"}},
        IndexCase{"pod_of_a_completed_index_goes",
                  indexed(3, 3).completed("0"),
                  {pod("a").running().index(0), pod("b").running().index(1)},
                  {},
                  {"a"}},
        IndexCase{"failed_index_stays_empty",
                  indexed(3, 3).per_index(0),
                  {pod("a").failed().index(0)},
                  {1, 2},
                  {}},
        IndexCase{"index_with_failures_left_is_tried_again",
                  indexed(2, 2).per_index(1),
                  {pod("a").failed().index(0), pod("b").running().index(1)},
                  {0},
                  {}}),
    [](const auto& test) { return test.param.name; });

TEST(PlanIndexes, TheReplacementCarriesTheFailureCount) {
  const JobPlan result =
      plan(indexed(1, 1).per_index(3), {pod("a").failed().index(0), pod("b").failed().index(0, 1)});
  EXPECT_THAT(result.create, ElementsAre(PodCreation{.index = 0, .index_failures = 2}));
}

TEST(PlanIndexes, EachIndexBacksOffAlone) {
  const JobPlan result = plan(indexed(2, 2).per_index(5),
                              {pod("a").failed(95).index(0, 1), pod("b").failed(0).index(1)});
  EXPECT_EQ(indexes(result), std::vector<std::int64_t>{1});
  EXPECT_EQ(result.wake, at(115)) << "index 0 failed twice: 20 s after 95";
}

// ---- counting -----------------------------------------------------------------------------------

TEST(PlanCounting, AFinishedPodIsListedThenReleasedThenCounted) {
  const JobBuilder fresh = job().completions(3).parallelism(1).backoff_limit(9);
  const PodBuilder done = pod("a").succeeded();
  const PodBuilder next = pod("b").running();

  const JobPlan listed = plan(fresh, {done, next});
  EXPECT_THAT(listed.status.uncounted_succeeded, ElementsAre("uid-a"));
  EXPECT_EQ(listed.status.succeeded, 0);
  EXPECT_THAT(listed.release, IsEmpty()) << "not before the uid is stored";

  JobBuilder stored = fresh;
  stored.uncounted({"uid-a"}, {});
  const JobPlan released = plan(stored, {done, next});
  EXPECT_THAT(names(released.release), ElementsAre("a"));
  EXPECT_EQ(released.status.succeeded, 0);

  const JobPlan counted = plan(stored, {pod("a").succeeded().released(), next});
  EXPECT_THAT(counted.status.uncounted_succeeded, IsEmpty());
  EXPECT_EQ(counted.status.succeeded, 1);

  const JobPlan vanished = plan(stored, {next});
  EXPECT_EQ(vanished.status.succeeded, 1) << "a pod that is gone was counted by its uid";
}

TEST(PlanCounting, AnIndexIsCountedByTheIndexItself) {
  const JobPlan listed =
      plan(indexed(2, 2), {pod("a").succeeded().index(1), pod("b").running().index(0)});
  EXPECT_EQ(listed.status.completed_indexes.to_string(), "1");
  EXPECT_EQ(listed.status.succeeded, 1);
  EXPECT_THAT(listed.release, IsEmpty());

  const JobPlan released = plan(indexed(2, 2).completed("1"),
                                {pod("a").succeeded().index(1), pod("b").running().index(0)});
  EXPECT_THAT(names(released.release), ElementsAre("a"));
  EXPECT_EQ(released.status.succeeded, 1) << "not counted twice";
}

TEST(PlanCounting, ADeletedRunningPodCountsAsFailed) {
  const JobPlan result = plan(job().completions(2).parallelism(2),
                              {pod("a").running().deleting(), pod("b").running()}, at(1));
  EXPECT_THAT(result.status.uncounted_failed, ElementsAre("uid-a"));
  EXPECT_EQ(result.status.terminating, 1);
}

TEST(PlanCounting, APodListedAsFailedStaysFailedWhateverItsEnd) {
  const JobPlan result = plan(job().completions(2).uncounted({}, {"uid-a"}),
                              {pod("a").succeeded().deleting(), pod("b").running()});
  EXPECT_THAT(result.status.uncounted_failed, ElementsAre("uid-a"));
  EXPECT_THAT(result.status.uncounted_succeeded, IsEmpty());
}

TEST(PlanCounting, ReadyAndActiveAreWhatIsThere) {
  const JobPlan result =
      plan(job().completions(3).parallelism(3), {pod("a").ready(), pod("b").running(), pod("c")});
  EXPECT_EQ(result.status.active, 3);
  EXPECT_EQ(result.status.ready, 1);
}

TEST(PlanCounting, FinishedAndDeletedJobsLetEveryPodGo) {
  const std::vector<PodBuilder> pods{pod("a").succeeded(), pod("b").running(),
                                     pod("c").failed().released()};
  EXPECT_THAT(names(plan(job().condition("Failed", "True", "x"), pods).release),
              ElementsAre("a", "b"));
  EXPECT_THAT(names(plan(job().deleting(), pods).release), ElementsAre("a", "b"));
}

TEST(PlanCounting, ThePodThatKeepsAnIndexsFailureCountIsHeldUntilReplaced) {
  JobBuilder stored = indexed(1, 1).per_index(2).uncounted({}, {"uid-a"});
  EXPECT_THAT(plan(stored, {pod("a").failed(95).index(0)}).release, IsEmpty());
  EXPECT_THAT(
      names(plan(stored, {pod("a").failed(95).index(0), pod("b").running().index(0, 1)}).release),
      ElementsAre("a"));
}

// ---- endings ------------------------------------------------------------------------------------

struct EndCase {
  const char* name;
  JobBuilder job;
  std::vector<PodBuilder> pods;
  const char* target; ///< condition expected, "" for none
  const char* reason;
  bool final; ///< Complete or Failed is set too
};

void PrintTo(const EndCase& c, std::ostream* out) {
  *out << c.name;
}

class PlanEnd : public testing::TestWithParam<EndCase> {};

TEST_P(PlanEnd, SetsConditions) {
  const EndCase& c = GetParam();
  const JobPlan result = plan(c.job, c.pods);
  const std::string target = c.target;
  for (const char* type : {"SuccessCriteriaMet", "FailureTarget"}) {
    const JobCondition* held = result.status.holds(type);
    ASSERT_EQ(held != nullptr, target == type) << type;
    if (held != nullptr) {
      EXPECT_EQ(held->reason, c.reason);
    }
  }
  EXPECT_EQ(result.status.holds("Complete") != nullptr, target == "SuccessCriteriaMet" && c.final);
  EXPECT_EQ(result.status.holds("Failed") != nullptr, target == "FailureTarget" && c.final);
  EXPECT_EQ(result.status.completion_time.has_value(), target == "SuccessCriteriaMet" && c.final);
  EXPECT_THAT(result.events, SizeIs(c.final ? 1 : 0));
}

INSTANTIATE_TEST_SUITE_P(
    Table, PlanEnd,
    testing::Values(
        EndCase{"running", job(), {pod("a").running()}, "", "", false},
        EndCase{"enough_counted",
                job().counted(1, 0),
                {},
                "SuccessCriteriaMet",
                "CompletionsReached",
                true},
        EndCase{"enough_but_not_counted_yet",
                job(),
                {pod("a").succeeded()},
                "SuccessCriteriaMet",
                "CompletionsReached",
                false},
        EndCase{"zero_completions",
                job().completions(0),
                {},
                "SuccessCriteriaMet",
                "CompletionsReached",
                true},
        EndCase{"waits_for_terminating_pods",
                job().counted(1, 0),
                {pod("b").running().deleting().released()},
                "SuccessCriteriaMet",
                "CompletionsReached",
                false},
        EndCase{"work_queue_waits_for_the_others",
                job().work_queue().counted(1, 0),
                {pod("b").running()},
                "",
                "",
                false},
        EndCase{"work_queue_done",
                job().work_queue().counted(1, 0),
                {},
                "SuccessCriteriaMet",
                "CompletionsReached",
                true},
        EndCase{
            "failures_within_the_limit", job().backoff_limit(2).counted(0, 2), {}, "", "", false},
        EndCase{"failures_over_the_limit",
                job().backoff_limit(2).counted(0, 3),
                {},
                "FailureTarget",
                "BackoffLimitExceeded",
                true},
        EndCase{"limit_zero_and_one_failed_pod",
                job().backoff_limit(0),
                {pod("a").failed()},
                "FailureTarget",
                "BackoffLimitExceeded",
                false},
        EndCase{"restarts_in_place_reach_the_limit",
                job().on_failure().backoff_limit(3),
                {pod("a").running().restarts(3)},
                "FailureTarget",
                "BackoffLimitExceeded",
                false},
        EndCase{"restarts_below_the_limit",
                job().on_failure().backoff_limit(3),
                {pod("a").running().restarts(2)},
                "",
                "",
                false},
        EndCase{"restarts_do_not_count_with_never",
                job().backoff_limit(3),
                {pod("a").running().restarts(5)},
                "",
                "",
                false},
        EndCase{
            "deadline_passed", job().deadline(100), {}, "FailureTarget", "DeadlineExceeded", true},
        EndCase{"deadline_to_come", job().deadline(101), {pod("a").running()}, "", "", false},
        EndCase{"deadline_stands_still_while_suspended",
                job().deadline(10).suspended().condition("Suspended", "True", "x"),
                {},
                "",
                "",
                false},
        EndCase{"earlier_target_stands",
                job().condition("FailureTarget", "True", "DeadlineExceeded"),
                {},
                "FailureTarget",
                "DeadlineExceeded",
                true},
        EndCase{"success_stands_against_later_failures",
                job().counted(1, 9).backoff_limit(0).condition("SuccessCriteriaMet", "True",
                                                               "CompletionsReached"),
                {},
                "SuccessCriteriaMet",
                "CompletionsReached",
                true},
        EndCase{
            "failed_index_with_others_open",
            indexed(3, 3).per_index(0),
            {pod("a").failed().index(0), pod("b").running().index(1), pod("c").running().index(2)},
            "",
            "",
            false},
        EndCase{"failed_index_and_the_rest_done",
                indexed(2, 2).per_index(0).completed("1").failed_indexes("0"),
                {},
                "FailureTarget",
                "FailedIndexes",
                true},
        EndCase{"too_many_failed_indexes",
                indexed(9, 9).per_index(0).max_failed_indexes(1).failed_indexes("0,1"),
                {},
                "FailureTarget",
                "MaxFailedIndexesExceeded",
                true}),
    [](const auto& test) { return test.param.name; });

TEST(PlanEnd, AFailingJobDeletesItsPodsAndCountsThem) {
  const JobPlan failing =
      plan(job().deadline(50).completions(3).parallelism(3), {pod("a").running(), pod("b")});
  EXPECT_THAT(failing.remove,
              ElementsAre(PodRemoval{"b", "uid-b", PodRemoval::Counting::CountsAsFailed},
                          PodRemoval{"a", "uid-a", PodRemoval::Counting::CountsAsFailed}));
  EXPECT_THAT(failing.create, IsEmpty());
}

TEST(PlanEnd, TextsAreKubernetes) {
  const JobPlan complete = plan(job().counted(1, 0), {});
  EXPECT_THAT(complete.events,
              ElementsAre(JobEvent{JobEvent::Type::Normal, "Completed", "Job completed"}));
  EXPECT_EQ(complete.status.holds("Complete")->message,
            "Reached expected number of succeeded pods");
  const JobPlan failed = plan(job().backoff_limit(0).counted(0, 1), {});
  EXPECT_THAT(failed.events, ElementsAre(JobEvent{JobEvent::Type::Warning, "BackoffLimitExceeded",
                                                  "Job has reached the specified backoff limit"}));
  const JobPlan late = plan(job().deadline(1), {});
  EXPECT_THAT(late.events, ElementsAre(JobEvent{JobEvent::Type::Warning, "DeadlineExceeded",
                                                "Job was active longer than specified deadline"}));
}

// ---- time ---------------------------------------------------------------------------------------

TEST(PlanTime, StartTimeIsSetOnceAndNotWhileSuspended) {
  JobBuilder fresh;
  fresh.completions(1).parallelism(1);
  EXPECT_EQ(plan(fresh, {}, at(7)).status.start_time, at(7));
  EXPECT_EQ(plan(job(), {}, at(7)).status.start_time, at(0));
  EXPECT_EQ(plan(fresh.suspended(), {}, at(7)).status.start_time, std::nullopt);
}

TEST(PlanTime, WakesForTheDeadline) {
  EXPECT_EQ(plan(job().deadline(300), {pod("a").running()}).wake, at(300));
}

TEST(PlanTime, NeedsNoTimerWhileNothingIsDue) {
  EXPECT_EQ(plan(job(), {pod("a").running()}).wake, std::nullopt);
}

TEST(PlanTime, ReplacementWaitsForTheBackoff) {
  const JobPlan waiting = plan(job(), {pod("a").failed(95)});
  EXPECT_THAT(waiting.create, IsEmpty());
  EXPECT_EQ(waiting.wake, at(105));
  const JobPlan twice = plan(job(), {pod("a").failed(50), pod("b").failed(95)});
  EXPECT_EQ(twice.wake, at(115));
  EXPECT_THAT(plan(job(), {pod("a").failed(95)}, at(105)).create, SizeIs(1));
}

TEST(PlanTime, TtlCountsFromTheEnd) {
  const JobBuilder done = job().ttl(60).condition("Complete", "True", "CompletionsReached", 90);
  EXPECT_EQ(plan(done, {}, at(100)).wake, at(150));
  EXPECT_FALSE(plan(done, {}, at(149)).expired);
  EXPECT_TRUE(plan(done, {}, at(150)).expired);
  EXPECT_TRUE(plan(job().ttl(0).condition("Failed", "True", "x", 100), {}, at(100)).expired);
}

// ---- suspension ---------------------------------------------------------------------------------

TEST(PlanSuspension, IsSaidOnceAndTakenBack) {
  const JobPlan suspended = plan(job().suspended(), {});
  EXPECT_THAT(suspended.events,
              ElementsAre(JobEvent{JobEvent::Type::Normal, "Suspended", "Job suspended"}));
  ASSERT_NE(suspended.status.holds("Suspended"), nullptr);
  EXPECT_EQ(suspended.status.holds("Suspended")->reason, "JobSuspended");

  EXPECT_THAT(plan(job().suspended().condition("Suspended", "True", "JobSuspended"), {}).events,
              IsEmpty());

  const JobPlan resumed = plan(job().condition("Suspended", "True", "JobSuspended"), {});
  EXPECT_THAT(resumed.events,
              ElementsAre(JobEvent{JobEvent::Type::Normal, "Resumed", "Job resumed"}));
  EXPECT_EQ(resumed.status.holds("Suspended"), nullptr);
  EXPECT_EQ(resumed.status.start_time, at(100)) << "the deadline starts afresh";

  EXPECT_THAT(plan(job(), {pod("a").running()}).status.conditions, IsEmpty())
      << "never suspended: no condition";
}

} // namespace
} // namespace berth::controllers
