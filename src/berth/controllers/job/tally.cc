#include "berth/controllers/job/tally.h"

#include <algorithm>
#include <set>

namespace berth::controllers {
namespace {

/// As many uids as one status may list; the rest waits for the next write (Kubernetes:
/// MaxUncountedPods).
constexpr std::size_t kMaxUncounted = 500;

class Tally {
 public:
  Tally(const JobState& state, const PodFacts& pods) : state_(state), pods_(pods) {}

  JobTally run() {
    const JobStatus& stored = state_.status;
    tally_.counted = stored;
    tally_.counted.uncounted_succeeded.clear();
    tally_.counted.uncounted_failed.clear();
    tally_.completed_indexes = stored.completed_indexes;
    tally_.failed_indexes = stored.failed_indexes;
    for (const auto& pod : pods_) {
      classify(pod);
    }
    settle();
    return std::move(tally_);
  }

 private:
  static bool lists(const std::vector<std::string>& uids, const std::string& uid) {
    return std::ranges::binary_search(uids, uid);
  }

  bool has_failed(const PodFact& pod) const {
    if (pod.phase == PodFact::Phase::Failed) {
      return true;
    }
    // A deleted pod counts as failed at once, for it may vanish without ever reporting an end.
    // Of a failing Job every pod that has not ended does.
    return pod.terminating() &&
           (!state_.replace_only_terminated || state_.status.holds("FailureTarget") != nullptr);
  }

  bool valid_index(const PodFact& pod) const {
    return pod.index && *pod.index < state_.completions.value_or(0);
  }

  void classify(const std::shared_ptr<const PodFact>& pod) {
    if (pod->active()) {
      tally_.active.push_back(pod);
      tally_.ready += pod->ready ? 1 : 0;
    } else if (pod->terminating()) {
      tally_.terminating.push_back(pod);
    }
    note_failed_index(*pod);
    if (!pod->tracked) {
      return;
    }
    const bool listed_failed = lists(state_.status.uncounted_failed, pod->uid);
    if (pod->phase == PodFact::Phase::Succeeded && !listed_failed) {
      succeeded(pod);
    } else if (has_failed(*pod) || listed_failed) {
      failed(pod);
    }
  }

  void note_failed_index(const PodFact& pod) {
    if (state_.backoff_limit_per_index && pod.phase == PodFact::Phase::Failed && valid_index(pod) &&
        pod.index_failures >= *state_.backoff_limit_per_index) {
      tally_.failed_indexes.insert(*pod.index);
    }
  }

  void succeeded(const std::shared_ptr<const PodFact>& pod) {
    if (state_.indexed()) {
      // The index in completedIndexes is the durable count; a second success of an index adds
      // nothing.
      if (!valid_index(*pod) || state_.status.completed_indexes.contains(*pod->index)) {
        tally_.releasable.push_back(pod);
      } else {
        tally_.completed_indexes.insert(*pod->index);
        tally_.all_counted = false;
      }
      return;
    }
    succeeded_.insert(pod->uid);
    if (lists(state_.status.uncounted_succeeded, pod->uid)) {
      tally_.releasable.push_back(pod);
    }
  }

  void failed(const std::shared_ptr<const PodFact>& pod) {
    if (state_.indexed() && !valid_index(*pod)) {
      tally_.releasable.push_back(pod);
      return;
    }
    failed_.insert(pod->uid);
    if (lists(state_.status.uncounted_failed, pod->uid) && !needed_for_index(*pod)) {
      tally_.releasable.push_back(pod);
    }
  }

  /// With a limit per index the replacement learns its failure count from the failed pod, which
  /// must stay visible until a successor carries the count on or the index has failed.
  bool needed_for_index(const PodFact& pod) const {
    if (!state_.backoff_limit_per_index || pod.terminating() ||
        state_.status.failed_indexes.contains(*pod.index) ||
        state_.status.holds("FailureTarget") != nullptr) {
      return false;
    }
    return std::ranges::none_of(pods_, [&](const auto& other) {
      return other->index == pod.index && other->index_failures > pod.index_failures;
    });
  }

  /// Moves into the counts what is listed in the stored status but no longer tracked, and lists
  /// what is new.
  void settle() {
    const JobStatus& stored = state_.status;
    JobStatus& next = tally_.counted;
    for (const std::string& uid : stored.uncounted_succeeded) {
      next.succeeded += succeeded_.contains(uid) ? 0 : 1;
    }
    for (const std::string& uid : stored.uncounted_failed) {
      next.failed += failed_.contains(uid) ? 0 : 1;
    }
    // What is listed already must stay listed; new uids fill what room is left.
    list_into(next.uncounted_succeeded, succeeded_, stored.uncounted_succeeded);
    list_into(next.uncounted_failed, failed_, stored.uncounted_failed);
    next.completed_indexes = tally_.completed_indexes;
    next.failed_indexes = tally_.failed_indexes;
    if (state_.indexed()) {
      next.succeeded = tally_.completed_indexes.size();
    }
    tally_.succeeded = next.succeeded + static_cast<std::int64_t>(succeeded_.size());
    tally_.failed = next.failed + static_cast<std::int64_t>(failed_.size());
    tally_.all_counted = tally_.all_counted && succeeded_.empty() && failed_.empty();
  }

  static void list_into(std::vector<std::string>& out, const std::set<std::string>& uids,
                        const std::vector<std::string>& stored) {
    std::size_t listed = static_cast<std::size_t>(
        std::ranges::count_if(uids, [&](const std::string& uid) { return lists(stored, uid); }));
    for (const std::string& uid : uids) {
      if (lists(stored, uid)) {
        out.push_back(uid);
      } else if (listed < kMaxUncounted) {
        out.push_back(uid);
        ++listed;
      }
    }
  }

  const JobState& state_;
  const PodFacts& pods_;
  JobTally tally_;
  std::set<std::string> succeeded_; ///< uids not in the counts
  std::set<std::string> failed_;
};

} // namespace

JobTally tally_pods(const JobState& state, const PodFacts& pods) {
  return Tally(state, pods).run();
}

} // namespace berth::controllers
