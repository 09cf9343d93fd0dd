#include "berth/node/probes/container_probes.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace berth::node {
namespace {

using client::EventType;

/// A check that could not be made is tried again at once, this often.
constexpr int kTries = 3;

} // namespace

ContainerProbes::ContainerProbes(CheckPlace place, ProbedContainer container,
                                 ContainerProbesEvents events)
    : place_(place), container_(std::move(container)), events_(std::move(events)) {}

void ContainerProbes::begin(const api::json::value& spec) {
  for (const ProbeKind kind : kProbeKinds) {
    if (auto probe = read_probe(spec, kind)) {
      if (probe->check) {
        *probe->check = with_host(*probe->check, container_.pod);
      }
      probes_.try_emplace(kind, *place_.loop, *std::move(probe));
    }
  }
  started_ = !probes_.contains(ProbeKind::Startup);
  ready_ = !probes_.contains(ProbeKind::Readiness);
  if (started_) {
    startup_over();
  } else {
    schedule(ProbeKind::Startup);
  }
}

// The first turn of a probe, once its delay since the container's start is over.
void ContainerProbes::schedule(ProbeKind kind) {
  const auto probe = probes_.find(kind);
  if (probe != probes_.end()) {
    const TimePoint due = container_.started_at + probe->second.spec.initial_delay;
    const Duration wait = std::max(due - place_.loop->now(), Duration());
    probe->second.timer.set(wait, [this, kind] { turn(kind); });
  }
}

void ContainerProbes::startup_over() {
  schedule(ProbeKind::Liveness);
  schedule(ProbeKind::Readiness);
}

void ContainerProbes::pod_ends() {
  probes_.erase(ProbeKind::Startup);
  probes_.erase(ProbeKind::Liveness);
}

void ContainerProbes::turn(ProbeKind kind) {
  Probe& probe = probes_.at(kind);
  probe.timer.set(probe.spec.period, [this, kind] { turn(kind); });
  if (!std::exchange(probe.asking, true)) {
    probe.errors = 0;
    ask(kind);
  }
}

void ContainerProbes::ask(ProbeKind kind) {
  const ProbeSpec& spec = probes_.at(kind).spec;
  if (!spec.check) {
    probes_.at(kind).errors = kTries; // it will not get better within this turn
    answered(kind, {CheckResult::Kind::Errored, spec.check.error().message});
    return;
  }
  run_check(place_, container_.id, *spec.check, spec.timeout,
            [weak = weak_from_this(), kind](const CheckResult& result) {
              if (const auto self = weak.lock()) {
                self->answered(kind, result);
              }
            });
}

void ContainerProbes::answered(ProbeKind kind, const CheckResult& result) {
  const auto found = probes_.find(kind);
  if (found != probes_.end() && result.kind != CheckResult::Kind::Errored) {
    found->second.asking = false;
  }
  // A startup probe that has succeeded, or one that has ended its container, has no timer any more.
  if (found == probes_.end() || !found->second.timer.armed()) {
    return;
  }
  Probe& probe = found->second;
  if (result.kind == CheckResult::Kind::Errored) {
    if (++probe.errors < kTries) {
      ask(kind);
      return;
    }
    probe.asking = false;
    events_.tell(EventType::Warning, "Unhealthy",
                 fmt::format("{} probe errored and resulted in unknown state: {}", to_string(kind),
                             result.output));
    return;
  }
  const bool good = result.kind == CheckResult::Kind::Success;
  if (!good) {
    events_.tell(EventType::Warning, "Unhealthy",
                 fmt::format("{} probe failed: {}", to_string(kind), result.output));
  }
  probe.run = probe.last == good ? probe.run + 1 : 1;
  probe.last = good;
  judge(kind, probe);
}

void ContainerProbes::judge(ProbeKind kind, Probe& probe) {
  const bool good = *probe.last;
  if (probe.run < (good ? probe.spec.success_threshold : probe.spec.failure_threshold)) {
    return;
  }
  if (kind == ProbeKind::Readiness) {
    if (std::exchange(ready_, good) != good) {
      events_.on_change();
    }
    return;
  }
  if (!good) {
    // It is asked nothing any more: commands in a container that is being stopped do harm.
    for (auto& [each, other] : probes_) {
      if (each != ProbeKind::Readiness) {
        other.timer.cancel();
      }
    }
    events_.on_failed(kind, probe.spec.grace);
    return;
  }
  if (kind == ProbeKind::Startup) {
    probe.timer.cancel();
    started_ = true;
    startup_over();
    events_.on_change();
  }
}

} // namespace berth::node
