#include "berth/controllers/replica_set/plan.h"

#include <algorithm>
#include <tuple>

namespace berth::controllers {
namespace {

/// Who serves least goes first.
bool goes_before(const ReplicaFact& a, const ReplicaFact& b) {
  const auto worth = [](const ReplicaFact& pod) {
    return std::tuple(pod.bound, pod.running, pod.ready, pod.deletion_cost);
  };
  if (worth(a) != worth(b)) {
    return worth(a) < worth(b);
  }
  if (a.ready && a.ready_since != b.ready_since) {
    return a.ready_since > b.ready_since;
  }
  if (a.restarts != b.restarts) {
    return a.restarts > b.restarts;
  }
  return std::tuple(b.created, a.name) < std::tuple(a.created, b.name);
}

} // namespace

ReplicaPlan plan_replicas(const ReplicaQuestion& question) {
  ReplicaPlan plan;
  std::vector<ReplicaFact> active;
  for (const ReplicaFact& pod : question.pods) {
    if (pod.deleting) {
      continue;
    }
    active.push_back(pod);
    ++plan.status.replicas;
    plan.status.fully_labeled += pod.fully_labeled ? 1 : 0;
    if (!pod.ready) {
      continue;
    }
    ++plan.status.ready;
    const TimePoint available = pod.ready_since + question.min_ready;
    if (available <= question.now) {
      ++plan.status.available;
    } else {
      plan.wake = std::min(plan.wake, available);
    }
  }
  if (question.deleting) {
    return plan;
  }
  const auto have = static_cast<std::int64_t>(active.size());
  if (have < question.wanted) {
    plan.create = std::min(question.wanted - have, kReplicaBurst);
  } else if (have > question.wanted) {
    std::ranges::sort(active, goes_before);
    active.resize(static_cast<std::size_t>(
        std::min(have - std::max<std::int64_t>(question.wanted, 0), kReplicaBurst)));
    plan.remove = std::move(active);
  }
  return plan;
}

} // namespace berth::controllers
