#include "berth/node/pod_verdict.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

namespace berth::node {

std::optional<Verdict> stored_verdict(const model::Pod& pod) {
  if (!pod.terminal()) {
    return std::nullopt;
  }
  return Verdict{pod.status.phase, {pod.status.reason, pod.status.message}};
}

Verdict stopped_verdict(const PodView& view) {
  const bool succeeded = std::ranges::all_of(view.containers, [](const ContainerView& each) {
    return each.role == Role::Sidecar || each.succeeded();
  });
  return {succeeded ? "Succeeded" : "Failed", {}};
}

Verdict allocation_failure(const std::string& message, const std::string& reason) {
  if (!reason.empty()) {
    return {"Failed", {reason, message}};
  }
  return {"Failed",
          {"UnexpectedAdmissionError",
           fmt::format("Allocate failed due to {}, which is unexpected", message)}};
}

Verdict rejection(std::string reason, const std::string& message) {
  return {"Failed", {std::move(reason), "Pod was rejected: " + message}};
}

Verdict deadline_exceeded() {
  return {"Failed",
          {"DeadlineExceeded", "Pod was active on the node longer than the specified deadline"}};
}

Duration grace_of(const api::Object& object, const model::Pod& pod) {
  constexpr std::int64_t kDefaultSeconds = 30;
  const std::int64_t own = pod.spec.termination_grace_period_seconds.value_or(kDefaultSeconds);
  const std::int64_t seconds = object.meta().deletion_grace_period_seconds.value_or(own);
  return Duration::seconds(std::max<std::int64_t>(seconds, 1));
}

std::string log_name(const model::Pod& pod) {
  return fmt::format("{}_{}({})", pod.meta.name, pod.meta.ns, pod.meta.uid);
}

} // namespace berth::node
