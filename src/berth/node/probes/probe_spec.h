// The probes of a container as its document has them, with the API's defaults. Pure.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "berth/api/json.h"
#include "berth/base/time.h"
#include "berth/node/probes/check.h"

namespace berth::node {

enum class ProbeKind { Startup, Liveness, Readiness };
inline constexpr std::array kProbeKinds{ProbeKind::Startup, ProbeKind::Liveness,
                                        ProbeKind::Readiness};
/// "Startup", as events name it.
std::string_view to_string(ProbeKind kind);

struct ProbeSpec {
  Result<Check> check; ///< the error is told at each turn: the container's document is at fault
  Duration initial_delay;
  Duration period = Duration::seconds(10);
  Duration timeout = Duration::seconds(1);
  int success_threshold = 1;
  int failure_threshold = 3;
  std::optional<Duration> grace; ///< in place of the pod's, when this probe ends the container
};

/// Nothing: the container has no such probe.
std::optional<ProbeSpec> read_probe(const api::json::value& container, ProbeKind kind);
bool has_probes(const api::json::value& container);

} // namespace berth::node
