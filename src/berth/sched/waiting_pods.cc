#include "berth/sched/waiting_pods.h"

#include <algorithm>

#include <fmt/format.h>

#include "berth/base/assert.h"

namespace berth::sched {
namespace {

/// The wait that ends first, ties by plugin name. Precondition: there is one.
auto first_wait(const WaitingPod& pod) {
  return std::ranges::min_element(pod.waits, {}, [](const auto& wait) { return wait.second; });
}

} // namespace

void WaitingPods::add(QueuedPod queued, Decision decision, TimePoint now) {
  BERTH_ASSERT(!decision.waits.empty(), "decision has nothing to wait for: " + queued.pod->uid);
  WaitingPod waiting{
      .queued = std::move(queued), .decision = std::move(decision), .since = now, .waits = {}};
  for (const auto& [plugin, timeout] : waiting.decision.waits) {
    waiting.waits.emplace(plugin, now + timeout);
  }
  std::string uid = waiting.queued.pod->uid;
  pods_.insert_or_assign(std::move(uid), std::move(waiting));
}

std::optional<WaitingPod> WaitingPods::allow(std::string_view uid, std::string_view plugin) {
  const auto it = pods_.find(uid);
  if (it == pods_.end()) {
    return std::nullopt;
  }
  auto& waits = it->second.waits;
  if (const auto wait = waits.find(plugin); wait != waits.end()) {
    waits.erase(wait);
  }
  return waits.empty() ? take(uid) : std::nullopt;
}

std::optional<WaitingPod> WaitingPods::take(std::string_view uid) {
  const auto it = pods_.find(uid);
  if (it == pods_.end()) {
    return std::nullopt;
  }
  WaitingPod pod = std::move(it->second);
  pods_.erase(it);
  return pod;
}

std::vector<WaitingPods::Expired> WaitingPods::expire(TimePoint now) {
  std::vector<Expired> expired;
  for (auto it = pods_.begin(); it != pods_.end();) {
    const auto wait = first_wait(it->second);
    if (wait->second > now) {
      ++it;
      continue;
    }
    std::string plugin = wait->first;
    expired.push_back({.pod = std::move(it->second), .plugin = std::move(plugin)});
    it = pods_.erase(it);
  }
  return expired;
}

std::optional<TimePoint> WaitingPods::next_deadline() const {
  std::optional<TimePoint> next;
  for (const auto& [uid, pod] : pods_) {
    const TimePoint end = first_wait(pod)->second;
    next = next ? std::min(*next, end) : end;
  }
  return next;
}

const WaitingPod* WaitingPods::find(std::string_view uid) const {
  const auto it = pods_.find(uid);
  return it == pods_.end() ? nullptr : &it->second;
}

std::string permit_timeout_message(std::string_view plugin) {
  return fmt::format("rejected due to timeout after waiting at plugin \"{}\"", plugin);
}

} // namespace berth::sched
