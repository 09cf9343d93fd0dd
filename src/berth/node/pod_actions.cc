#include "berth/node/pod_actions.h"

#include <algorithm>
#include <charconv>

namespace berth::node {
namespace {

using runtime::ContainerState;

constexpr Duration kFirstDelay = Duration::seconds(10);
constexpr Duration kLastDelay = Duration::seconds(300);
constexpr Duration kRecovered = Duration::minutes(10);

bool ended_for_good(const ContainerView& each, std::string_view policy) {
  return each.exited() && !restarts(each.role, policy, each.current->exit_code);
}

// A pod that never restarts anything and lost its sandbox under a container: what was not started
// never will be.
bool abandoned(const PodView& view) {
  const bool began = std::ranges::any_of(
      view.containers, [](const ContainerView& each) { return each.current || each.previous; });
  return view.pod->spec.restart_policy == "Never" && view.sandbox && !view.sandbox_ready() && began;
}

// Collects the earliest time at which something may be done.
struct Wake {
  std::optional<TimePoint> at;
  void by(TimePoint time) {
    if (!at || time < *at) {
      at = time;
    }
  }
};

// Start the container if it is to run and does not; Nothing with a time if later.
PodAction start_if_due(const PodView& view, std::size_t index,
                       const std::map<std::string, TimePoint>& held, TimePoint now) {
  const ContainerView& each = view.containers[index];
  const std::string& policy = view.pod->spec.restart_policy;
  if (each.running() || ended_for_good(each, policy)) {
    return {};
  }
  if (const auto it = held.find(each.spec->name); it != held.end() && it->second > now) {
    return {.not_before = it->second};
  }
  PodAction start{.kind = PodAction::Kind::StartContainer, .container = index};
  if (each.exited()) {
    start.delay = restart_delay(*each.current);
    if (const auto until = backing_off_until(each, policy, now)) {
      return {.not_before = until};
    }
  }
  return start;
}

} // namespace

Duration restart_delay(const runtime::ContainerStatus& ended) {
  if (ended.attempt == 0 || ended.finished_at - ended.started_at >= kRecovered) {
    return {};
  }
  std::int64_t before = 0;
  if (const auto it = ended.annotations.find(kRestartDelayAnnotation);
      it != ended.annotations.end()) {
    std::from_chars(it->second.data(), it->second.data() + it->second.size(), before);
  }
  return before <= 0 ? kFirstDelay : std::min(Duration::seconds(before) * 2, kLastDelay);
}

std::optional<TimePoint> backing_off_until(const ContainerView& container,
                                           std::string_view restart_policy, TimePoint now) {
  if (!container.exited() ||
      !restarts(container.role, restart_policy, container.current->exit_code)) {
    return std::nullopt;
  }
  const TimePoint until = container.current->finished_at + restart_delay(*container.current);
  return until > now ? std::optional(until) : std::nullopt;
}

Outcome outcome_of(const PodView& view) {
  const std::string& policy = view.pod->spec.restart_policy;
  bool all_succeeded = true;
  for (const ContainerView& each : view.containers) {
    if (each.role == Role::Init && ended_for_good(each, policy) && !each.succeeded()) {
      return Outcome::Failed;
    }
    if (each.role == Role::App) {
      if (!ended_for_good(each, policy)) {
        if (!abandoned(view)) {
          return Outcome::Unfinished;
        }
        all_succeeded = false;
      }
      all_succeeded = all_succeeded && each.succeeded();
    }
  }
  return all_succeeded ? Outcome::Succeeded : Outcome::Failed;
}

std::vector<std::size_t> next_stops(const PodView& view) {
  std::vector<std::size_t> main;
  std::vector<std::size_t> sidecars;
  for (std::size_t i = 0; i < view.containers.size(); ++i) {
    if (view.containers[i].running()) {
      (view.containers[i].role == Role::Sidecar ? sidecars : main).push_back(i);
    }
  }
  if (!main.empty()) {
    return main;
  }
  return sidecars.empty() ? main : std::vector{sidecars.back()};
}

PodAction next_action(const PodView& view, const std::map<std::string, TimePoint>& held,
                      TimePoint now) {
  if (outcome_of(view) != Outcome::Unfinished) {
    const auto stops = next_stops(view);
    return stops.empty()
               ? PodAction{.kind = PodAction::Kind::Finish}
               : PodAction{.kind = PodAction::Kind::StopContainer, .container = stops.front()};
  }
  if (!view.sandbox_ready()) {
    return {.kind = PodAction::Kind::CreateSandbox};
  }
  const bool init_over = view.init_phase_over();
  Wake wake;
  for (std::size_t i = 0; i < view.containers.size(); ++i) {
    const ContainerView& each = view.containers[i];
    if (each.role == Role::Init && init_over) {
      continue;
    }
    const PodAction action = start_if_due(view, i, held, now);
    if (action.kind != PodAction::Kind::Nothing) {
      return action;
    }
    if (action.not_before) {
      wake.by(*action.not_before);
    }
    const bool blocks = each.role != Role::App && !init_over &&
                        (each.role == Role::Init ? !each.succeeded() : !each.started());
    if (blocks) {
      break;
    }
  }
  return {.not_before = wake.at};
}

} // namespace berth::node
