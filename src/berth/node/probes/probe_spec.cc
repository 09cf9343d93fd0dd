#include "berth/node/probes/probe_spec.h"

#include <algorithm>

#include "berth/node/contents/spec_field.h"

namespace berth::node {
namespace {

std::string_view member_of(ProbeKind kind) {
  switch (kind) {
  case ProbeKind::Startup:
    return "startupProbe";
  case ProbeKind::Liveness:
    return "livenessProbe";
  case ProbeKind::Readiness:
    return "readinessProbe";
  }
  return "";
}

// Zero is how an absent number may be written.
std::int64_t positive(const api::json::value& probe, std::string_view member, std::int64_t absent) {
  const std::int64_t number = int_at(probe, member).value_or(absent);
  return number > 0 ? number : absent;
}

} // namespace

std::string_view to_string(ProbeKind kind) {
  switch (kind) {
  case ProbeKind::Startup:
    return "Startup";
  case ProbeKind::Liveness:
    return "Liveness";
  case ProbeKind::Readiness:
    return "Readiness";
  }
  return "";
}

std::optional<ProbeSpec> read_probe(const api::json::value& container, ProbeKind kind) {
  constexpr std::int64_t kPeriod = 10;
  constexpr std::int64_t kFailures = 3;
  const api::json::value* probe = api::find(container, member_of(kind));
  if (!probe) {
    return std::nullopt;
  }
  ProbeSpec spec{.check = read_check(*probe, container),
                 .initial_delay = Duration::seconds(
                     std::max<std::int64_t>(int_at(*probe, "initialDelaySeconds").value_or(0), 0)),
                 .period = Duration::seconds(positive(*probe, "periodSeconds", kPeriod)),
                 .timeout = Duration::seconds(positive(*probe, "timeoutSeconds", 1)),
                 .success_threshold = static_cast<int>(positive(*probe, "successThreshold", 1)),
                 .failure_threshold =
                     static_cast<int>(positive(*probe, "failureThreshold", kFailures))};
  if (const auto grace = int_at(*probe, "terminationGracePeriodSeconds")) {
    spec.grace = Duration::seconds(*grace);
  }
  return spec;
}

bool has_probes(const api::json::value& container) {
  return std::ranges::any_of(kProbeKinds, [&](ProbeKind kind) {
    return api::find(container, member_of(kind)) != nullptr;
  });
}

} // namespace berth::node
