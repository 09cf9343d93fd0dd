#include "berth/controllers/stateful_set/plan.h"

#include <algorithm>
#include <map>

namespace berth::controllers {
namespace {

class Planner {
 public:
  explicit Planner(const StatefulQuestion& question)
      : question_(question), ordered_(question.management == PodManagement::OrderedReady) {
    for (const StatefulPod& pod : question.pods) {
      const bool kept =
          pod.ordinal >= question.start && pod.ordinal < question.start + question.wanted;
      (kept ? replicas_ : condemned_)[pod.ordinal] = &pod;
    }
  }

  StatefulPlan plan() {
    count();
    for (const auto& [ordinal, pod] : condemned_) {
      plan_.condemned.push_back(ordinal);
    }
    if (!question_.deleting && !keep_replicas() && !shrink() &&
        question_.strategy == StatefulStrategy::RollingUpdate) {
      roll();
    }
    return std::move(plan_);
  }

 private:
  static bool running_and_ready(const StatefulPod& pod) {
    return pod.phase == PodPhase::Running && pod.ready;
  }
  static bool healthy(const StatefulPod& pod) { return running_and_ready(pod) && !pod.deleting; }
  bool available(const StatefulPod& pod) const {
    return running_and_ready(pod) && pod.ready_since + question_.min_ready <= question_.now;
  }

  void count() {
    StatefulStatus& status = plan_.status;
    for (const StatefulPod& pod : question_.pods) {
      ++status.replicas;
      if (available(pod)) {
        ++status.available;
      } else if (running_and_ready(pod)) {
        plan_.wake = std::min(plan_.wake, pod.ready_since + question_.min_ready);
      }
      status.ready += running_and_ready(pod) ? 1 : 0;
      if (!pod.deleting) {
        status.current += pod.revision == question_.current_revision ? 1 : 0;
        status.updated += pod.revision == question_.update_revision ? 1 : 0;
      }
    }
    status.current_revision = question_.current_revision;
    const bool complete = question_.strategy == StatefulStrategy::RollingUpdate &&
                          status.updated == question_.wanted &&
                          status.replicas == question_.wanted && status.ready == question_.wanted;
    if (complete) {
      status.current = status.updated;
      status.current_revision = question_.update_revision;
    }
  }

  const std::string& revision_for(std::int64_t ordinal) const {
    const bool keeps = question_.strategy == StatefulStrategy::RollingUpdate &&
                       ordinal < question_.start + question_.partition;
    return keeps ? question_.current_revision : question_.update_revision;
  }

  /// True: the pass ends here.
  bool keep_replicas() {
    for (std::int64_t ordinal = question_.start; ordinal < question_.start + question_.wanted;
         ++ordinal) {
      const auto held = replicas_.find(ordinal);
      if (held == replicas_.end()) {
        plan_.create.push_back({.ordinal = ordinal, .revision = revision_for(ordinal)});
        if (ordered_) {
          return true;
        }
        continue;
      }
      const StatefulPod& pod = *held->second;
      const bool ended = pod.phase == PodPhase::Failed || pod.phase == PodPhase::Succeeded;
      if (ended && !pod.deleting) {
        plan_.remove.push_back(pod);
      }
      if (pod.phase == PodPhase::Pending) {
        plan_.pending.push_back(ordinal);
      }
      if (ordered_ && (ended || pod.deleting || !available(pod))) {
        return true;
      }
    }
    return false;
  }

  /// The lowest replica that is not well, or else the highest of those that are too many.
  const StatefulPod* first_unhealthy() const {
    for (const auto& [ordinal, pod] : replicas_) {
      if (!healthy(*pod)) {
        return pod;
      }
    }
    for (auto it = condemned_.rbegin(); it != condemned_.rend(); ++it) {
      if (!healthy(*it->second)) {
        return it->second;
      }
    }
    return nullptr;
  }

  /// True: the pass ends here.
  bool shrink() {
    const StatefulPod* unhealthy = first_unhealthy();
    for (auto it = condemned_.rbegin(); it != condemned_.rend(); ++it) {
      const StatefulPod& pod = *it->second;
      if (pod.deleting) {
        if (ordered_) {
          return true;
        }
        continue;
      }
      if (ordered_ && !available(pod) && &pod != unhealthy) {
        return true;
      }
      plan_.remove.push_back(pod);
      if (ordered_) {
        return true;
      }
    }
    return false;
  }

  void roll() {
    const std::int64_t first = question_.start + std::max<std::int64_t>(question_.partition, 0);
    for (std::int64_t ordinal = question_.start + question_.wanted - 1; ordinal >= first;
         --ordinal) {
      const auto held = replicas_.find(ordinal);
      if (held == replicas_.end()) {
        return;
      }
      const StatefulPod& pod = *held->second;
      if (pod.revision != question_.update_revision && !pod.deleting) {
        if (std::ranges::find(plan_.remove, pod.uid, &StatefulPod::uid) == plan_.remove.end()) {
          plan_.remove.push_back(pod);
        }
        return;
      }
      if (!healthy(pod) || !available(pod)) {
        return;
      }
    }
  }

  const StatefulQuestion& question_;
  bool ordered_;
  std::map<std::int64_t, const StatefulPod*> replicas_;
  std::map<std::int64_t, const StatefulPod*> condemned_;
  StatefulPlan plan_;
};

} // namespace

StatefulPlan plan_stateful(const StatefulQuestion& question) {
  return Planner(question).plan();
}

} // namespace berth::controllers
