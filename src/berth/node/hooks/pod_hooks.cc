#include "berth/node/hooks/pod_hooks.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "berth/node/contents/spec_field.h"

namespace berth::node {
namespace {

using client::EventType;

/// What a container always has for its own end, however long its hook took.
constexpr Duration kLeastGrace = Duration::seconds(2);
/// A postStart hook has all the time it wants: its container counts as not started so long.
constexpr Duration kPostStartTimeout = Duration::hours(24);

// A hook's request counts as delivered whatever is answered.
bool delivered(const CheckResult& result, const api::json::value& action) {
  return result.kind == CheckResult::Kind::Success ||
         (api::find(action, "httpGet") && result.output.starts_with("HTTP probe failed"));
}

} // namespace

// A container whose preStop hook runs.
struct PodHooks::Stopping {
  explicit Stopping(Loop& loop) : timer(loop) {}
  Timer timer; ///< to the end of its grace
  TimePoint deadline;
  std::function<void(Duration)> stop;
  bool over = false; ///< it has been asked to stop
};

PodHooks::PodHooks(CheckPlace place, PodHooksEvents events)
    : place_(place), events_(std::move(events)) {}

void PodHooks::run(const api::json::value& action, const api::json::value& spec,
                   const HookedContainer& container, Duration timeout,
                   std::function<void(CheckResult)> done) {
  auto check = read_check(action, spec);
  if (!check) {
    place_.loop->post([done = std::move(done), why = check.error().message] {
      done({CheckResult::Kind::Errored, why});
    });
    return;
  }
  run_check(place_, container.id, with_host(*std::move(check), container.pod), timeout,
            std::move(done));
}

void PodHooks::post_start(const api::Object& pod, const HookedContainer& container) {
  const api::json::value* spec = container_spec(pod.json(), container.name);
  const api::json::value* action = spec ? api::find_path(*spec, "lifecycle.postStart") : nullptr;
  if (!action) {
    return;
  }
  starting_.emplace(container.id, container.name);
  run(*action, *spec, container, kPostStartTimeout,
      [weak = weak_from_this(), container, held = *action](const CheckResult& result) {
        const auto self = weak.lock();
        if (!self) {
          return;
        }
        self->starting_.erase(container.id);
        if (!delivered(result, held)) {
          self->events_.tell(EventType::Warning, "FailedPostStartHook",
                             fmt::format("PostStartHook failed: {}", result.output));
          self->events_.on_failed(container.id);
        }
        self->events_.on_change();
      });
}

void PodHooks::mark(PodView& view) const {
  for (ContainerView& each : view.containers) {
    if (each.running() && starting_.contains(each.current->id)) {
      each.starting = true;
      each.unready = true;
    }
  }
}

void PodHooks::pre_stop(const api::Object& pod, const HookedContainer& container, Duration grace,
                        std::function<void(Duration)> stop) {
  const TimePoint deadline = place_.loop->now() + grace;
  if (const auto known = stopping_.find(container.id); known != stopping_.end()) {
    Stopping& stopping = *known->second;
    if (stopping.over) {
      stop(grace);
    } else if (deadline < stopping.deadline) {
      stopping.deadline = deadline;
      stopping.timer.set(grace, [this, id = container.id] { over(id); });
    }
    return;
  }
  const api::json::value* spec = container_spec(pod.json(), container.name);
  const api::json::value* action = spec ? api::find_path(*spec, "lifecycle.preStop") : nullptr;
  if (!action) {
    stop(grace);
    return;
  }
  auto stopping = std::make_shared<Stopping>(*place_.loop);
  stopping->deadline = deadline;
  stopping->stop = std::move(stop);
  stopping->timer.set(grace, [this, id = container.id] { over(id); });
  stopping_.emplace(container.id, stopping);
  run(*action, *spec, container, grace,
      [weak = weak_from_this(), id = container.id, held = *action](const CheckResult& result) {
        const auto self = weak.lock();
        if (!self) {
          return;
        }
        if (!delivered(result, held)) {
          self->events_.tell(EventType::Warning, "FailedPreStopHook",
                             fmt::format("PreStopHook failed: {}", result.output));
        }
        self->over(id);
      });
}

// The hook is done, or its time is.
void PodHooks::over(const std::string& id) {
  const std::shared_ptr<Stopping> stopping = stopping_.at(id);
  if (std::exchange(stopping->over, true)) {
    return;
  }
  stopping->timer.cancel();
  stopping->stop(std::max(stopping->deadline - place_.loop->now(), kLeastGrace));
}

} // namespace berth::node
