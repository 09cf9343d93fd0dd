#include "berth/controllers/job/removal_order.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace berth::controllers {

bool goes_before(const PodFact& a, const PodFact& b) {
  // Each tuple member is smaller for the pod that goes first; times are negated by swapping sides.
  const auto running = [](const PodFact& p) { return p.phase == PodFact::Phase::Running; };
  const auto key = [&](const PodFact& p) { return std::tuple(p.assigned, running(p), p.ready); };
  if (key(a) != key(b)) {
    return key(a) < key(b);
  }
  if (a.ready && a.ready_since != b.ready_since) {
    return a.ready_since.value_or(TimePoint::max()) > b.ready_since.value_or(TimePoint::max());
  }
  if (a.restarts != b.restarts) {
    return a.restarts > b.restarts;
  }
  if (a.created != b.created) {
    return a.created > b.created;
  }
  return a.name < b.name;
}

PodFacts pods_to_remove(PodFacts active, std::int64_t count) {
  std::ranges::sort(active, [](const auto& a, const auto& b) { return goes_before(*a, *b); });
  active.resize(static_cast<std::size_t>(
      std::clamp<std::int64_t>(count, 0, static_cast<std::int64_t>(active.size()))));
  return active;
}

PodFacts indexed_pods_to_remove(PodFacts active, std::int64_t count,
                                const std::function<bool(std::int64_t)>& wanted) {
  std::ranges::sort(active, [](const auto& a, const auto& b) { return goes_before(*a, *b); });
  PodFacts removed;
  std::map<std::int64_t, std::shared_ptr<const PodFact>> best;
  for (auto& pod : active) {
    if (!pod->index || !wanted(*pod->index)) {
      removed.push_back(std::move(pod));
      continue;
    }
    // Later in the order is better: the pod held so far gives way.
    auto& held = best[*pod->index];
    if (held) {
      removed.push_back(std::move(held));
    }
    held = std::move(pod);
  }
  PodFacts rest;
  for (auto& [index, pod] : best) {
    rest.push_back(std::move(pod));
  }
  for (auto& pod :
       pods_to_remove(std::move(rest), count - static_cast<std::int64_t>(removed.size()))) {
    removed.push_back(std::move(pod));
  }
  return removed;
}

} // namespace berth::controllers
