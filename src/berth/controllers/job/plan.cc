#include "berth/controllers/job/plan.h"

#include <algorithm>
#include <map>

#include "berth/controllers/job/tally.h"

namespace berth::controllers {
namespace {

/// As many pods as one step creates or deletes (Kubernetes: MaxPodCreateDeletePerSync).
constexpr std::int64_t kMaxPodsPerStep = 500;

struct Verdict {
  std::string reason;
  std::string message;
};

class Planner {
 public:
  explicit Planner(const JobInput& input)
      : in_(input), state_(input.state), job_(*input.state.job),
        now_(TimePoint::from_unix_seconds(input.now.unix_seconds())) {}

  JobPlan run() {
    plan_.status = state_.status;
    if (state_.status.finished() || job_.meta.deletion_timestamp) {
      release_all();
      if (state_.status.finished()) {
        plan_expiry();
      }
      return std::move(plan_);
    }
    tally_ = tally_pods(state_, in_.pods);
    begin_status();
    if (const auto failure = find_failure()) {
      fail(*failure);
    } else if (state_.status.holds("SuccessCriteriaMet") != nullptr || complete()) {
      succeed();
    } else {
      manage();
      note_suspension();
    }
    // Deletions and creations come first: each changes what the status must say.
    if (plan_.remove.empty() && plan_.create.empty()) {
      release();
    }
    return std::move(plan_);
  }

 private:
  void begin_status() {
    plan_.status = tally_.counted;
    plan_.status.active = static_cast<std::int64_t>(tally_.active.size());
    plan_.status.terminating = static_cast<std::int64_t>(tally_.terminating.size());
    plan_.status.ready = tally_.ready;
    if (!plan_.status.start_time && !job_.suspend) {
      plan_.status.start_time = now_;
    }
  }

  // ---- endings --------------------------------------------------------------------------------

  std::optional<Verdict> find_failure() {
    if (const JobCondition* target = state_.status.holds("FailureTarget")) {
      return Verdict{.reason = target->reason, .message = target->message};
    }
    if (state_.status.holds("SuccessCriteriaMet") != nullptr) {
      return std::nullopt;
    }
    if (tally_.failed > state_.backoff_limit || too_many_restarts()) {
      return Verdict{.reason = "BackoffLimitExceeded",
                     .message = "Job has reached the specified backoff limit"};
    }
    if (past_deadline()) {
      return Verdict{.reason = "DeadlineExceeded",
                     .message = "Job was active longer than specified deadline"};
    }
    return find_index_failure();
  }

  std::optional<Verdict> find_index_failure() const {
    const std::int64_t failed = tally_.failed_indexes.size();
    if (!state_.backoff_limit_per_index || failed == 0) {
      return std::nullopt;
    }
    if (state_.max_failed_indexes && failed > *state_.max_failed_indexes) {
      return Verdict{.reason = "MaxFailedIndexesExceeded",
                     .message = "Job has exceeded the specified maximal number of failed indexes"};
    }
    if (failed + tally_.succeeded >= state_.completions.value_or(0)) {
      return Verdict{.reason = "FailedIndexes", .message = "Job has failed indexes"};
    }
    return std::nullopt;
  }

  /// OnFailure: the containers restart in place, so their restarts are the failures.
  bool too_many_restarts() const {
    if (!state_.restart_on_failure) {
      return false;
    }
    std::int64_t restarts = 0;
    for (const auto& pod : tally_.active) {
      restarts += pod->restarts;
    }
    return state_.backoff_limit == 0 ? restarts > 0 : restarts >= state_.backoff_limit;
  }

  bool past_deadline() {
    if (job_.suspend || !job_.active_deadline_seconds || !plan_.status.start_time) {
      return false;
    }
    const TimePoint due =
        *plan_.status.start_time + Duration::seconds(*job_.active_deadline_seconds);
    if (in_.now >= due) {
      return true;
    }
    wake_at(due);
    return false;
  }

  bool complete() const {
    if (!tally_.active.empty()) {
      return false;
    }
    return state_.completions ? tally_.succeeded >= *state_.completions : tally_.succeeded > 0;
  }

  void fail(const Verdict& failure) {
    plan_.wake.reset();
    add_condition("FailureTarget", failure.reason, failure.message);
    remove(pods_to_remove(tally_.active, kMaxPodsPerStep), PodRemoval::Counting::CountsAsFailed);
    if (!settled()) {
      return;
    }
    add_condition("Failed", failure.reason, failure.message);
    plan_.events.push_back(
        {.type = JobEvent::Type::Warning, .reason = failure.reason, .message = failure.message});
    plan_expiry_from(now_);
  }

  void succeed() {
    plan_.wake.reset();
    const char* const reason = "CompletionsReached";
    const char* const message = "Reached expected number of succeeded pods";
    add_condition("SuccessCriteriaMet", reason, message);
    remove(pods_to_remove(tally_.active, kMaxPodsPerStep), PodRemoval::Counting::NotCounted);
    if (!settled()) {
      return;
    }
    add_condition("Complete", reason, message);
    plan_.status.completion_time = now_;
    plan_.events.push_back({.reason = "Completed", .message = "Job completed"});
    plan_expiry_from(now_);
  }

  /// The final condition waits until no pod of the Job runs and every finished one is counted.
  bool settled() const {
    return tally_.active.empty() && tally_.terminating.empty() && tally_.all_counted;
  }

  void add_condition(std::string_view type, std::string_view reason, std::string_view message) {
    if (plan_.status.holds(type) == nullptr) {
      set_condition(type, "True", reason, message);
    }
  }

  void set_condition(std::string_view type, std::string_view status, std::string_view reason,
                     std::string_view message) {
    JobCondition condition{.type = std::string(type),
                           .status = std::string(status),
                           .reason = std::string(reason),
                           .message = std::string(message),
                           .last_transition = now_};
    const auto it = std::ranges::find(plan_.status.conditions, type, &JobCondition::type);
    if (it == plan_.status.conditions.end()) {
      plan_.status.conditions.push_back(std::move(condition));
    } else {
      *it = std::move(condition);
    }
  }

  // ---- running --------------------------------------------------------------------------------

  void manage() {
    const auto active = static_cast<std::int64_t>(tally_.active.size());
    const std::int64_t wanted = wanted_active();
    remove(surplus(active - wanted), PodRemoval::Counting::NotCounted);
    if (!plan_.remove.empty() || job_.suspend) {
      return;
    }
    std::int64_t missing = wanted - active;
    if (state_.replace_only_terminated) {
      missing -= static_cast<std::int64_t>(tally_.terminating.size());
    }
    create(std::min(missing, kMaxPodsPerStep));
  }

  std::int64_t wanted_active() const {
    if (job_.suspend) {
      return 0;
    }
    const auto active = static_cast<std::int64_t>(tally_.active.size());
    if (!state_.completions) {
      // A work queue: once a pod has succeeded no new ones start, the others finish.
      return tally_.succeeded > 0 ? std::min(active, job_.parallelism) : job_.parallelism;
    }
    const std::int64_t open = *state_.completions - tally_.succeeded - tally_.failed_indexes.size();
    return std::max<std::int64_t>(0, std::min(open, job_.parallelism));
  }

  PodFacts surplus(std::int64_t count) const {
    PodFacts pods = state_.indexed() ? indexed_pods_to_remove(tally_.active, count, open_index())
                                     : pods_to_remove(tally_.active, count);
    pods.resize(std::min(pods.size(), static_cast<std::size_t>(kMaxPodsPerStep)));
    return pods;
  }

  std::function<bool(std::int64_t)> open_index() const {
    return [this](std::int64_t index) {
      return index < state_.completions.value_or(0) && !tally_.completed_indexes.contains(index) &&
             !tally_.failed_indexes.contains(index);
    };
  }

  void create(std::int64_t count) {
    if (count <= 0) {
      return;
    }
    if (!state_.backoff_limit_per_index) {
      if (const auto until = in_.backoff.blocked_until(in_.now)) {
        wake_at(*until);
        return;
      }
    }
    if (state_.indexed()) {
      create_indexes(count);
    } else {
      plan_.create.assign(static_cast<std::size_t>(count), PodCreation());
    }
  }

  void create_indexes(std::int64_t count) {
    IndexSet taken;
    for (const auto& pod : in_.pods) {
      if (pod->index && (pod->active() || (pod->terminating() && state_.replace_only_terminated))) {
        taken.insert(*pod->index);
      }
    }
    const auto failures = failures_by_index();
    const auto open = open_index();
    for (std::int64_t index = 0; index < state_.completions.value_or(0) && count > 0; ++index) {
      if (taken.contains(index) || !open(index)) {
        continue;
      }
      const auto it = failures.find(index);
      if (it != failures.end() && it->second.until > in_.now) {
        wake_at(it->second.until);
        continue;
      }
      plan_.create.push_back(
          {.index = index, .index_failures = it == failures.end() ? 0 : it->second.count});
      --count;
    }
  }

  struct IndexFailures {
    std::int64_t count = 0;
    TimePoint until;
  };

  std::map<std::int64_t, IndexFailures> failures_by_index() const {
    std::map<std::int64_t, IndexFailures> failures;
    if (!state_.backoff_limit_per_index) {
      return failures;
    }
    for (const auto& pod : in_.pods) {
      if (pod->index && pod->phase == PodFact::Phase::Failed) {
        IndexFailures& f = failures[*pod->index];
        f.count = std::max(f.count, pod->index_failures + 1);
        f.until = std::max(f.until, pod->finished_at + job_backoff(pod->index_failures + 1));
      }
    }
    return failures;
  }

  void note_suspension() {
    const auto it = std::ranges::find(plan_.status.conditions, "Suspended", &JobCondition::type);
    const bool said = it != plan_.status.conditions.end() && it->status == "True";
    if (job_.suspend && !said) {
      set_condition("Suspended", "True", "JobSuspended", "Job suspended");
      plan_.events.push_back({.reason = "Suspended", .message = "Job suspended"});
    } else if (!job_.suspend && said) {
      set_condition("Suspended", "False", "JobResumed", "Job resumed");
      plan_.events.push_back({.reason = "Resumed", .message = "Job resumed"});
      // The deadline does not run while suspended.
      plan_.status.start_time = now_;
    }
  }

  // ---- shared ---------------------------------------------------------------------------------

  void remove(const PodFacts& pods, PodRemoval::Counting counting) {
    for (const auto& pod : pods) {
      plan_.remove.push_back({.name = pod->name, .uid = pod->uid, .counting = counting});
    }
  }

  void release() {
    for (const auto& pod : tally_.releasable) {
      plan_.release.push_back({.name = pod->name, .uid = pod->uid});
    }
  }

  /// A finished or deleted Job counts no more: whatever is still held is let go.
  void release_all() {
    for (const auto& pod : in_.pods) {
      if (pod->tracked) {
        plan_.release.push_back({.name = pod->name, .uid = pod->uid});
      }
    }
  }

  void plan_expiry() {
    const JobCondition* failed = state_.status.holds("Failed");
    const JobCondition* end = failed != nullptr ? failed : state_.status.holds("Complete");
    plan_expiry_from(end->last_transition);
  }

  void plan_expiry_from(TimePoint end) {
    if (!job_.ttl_seconds_after_finished || job_.meta.deletion_timestamp) {
      return;
    }
    const TimePoint due = end + Duration::seconds(*job_.ttl_seconds_after_finished);
    if (state_.status.finished() && in_.now >= due) {
      plan_.expired = true;
    } else {
      wake_at(due);
    }
  }

  void wake_at(TimePoint time) { plan_.wake = std::min(plan_.wake.value_or(time), time); }

  const JobInput& in_;
  const JobState& state_;
  const model::Job& job_;
  TimePoint now_; ///< in whole seconds, as the status keeps it
  JobTally tally_;
  JobPlan plan_;
};

} // namespace

JobPlan plan_job(const JobInput& input) {
  return Planner(input).run();
}

} // namespace berth::controllers
