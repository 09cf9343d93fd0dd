// What to do next for a pod, from what is: init containers in order, sidecars, app containers,
// restarts with back-off, the end. Pure; derived from the runtime alone, so that a restarted agent
// decides as its predecessor would have.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "berth/base/time.h"
#include "berth/node/pod_view.h"

namespace berth::node {

enum class Outcome { Unfinished, Succeeded, Failed };

/// How the pod's work ended, sidecars aside. Unfinished while a container is, or will be, running.
Outcome outcome_of(const PodView& view);

struct PodAction {
  enum class Kind {
    Nothing, ///< until an event, or until `not_before`
    CreateSandbox,
    StartContainer, ///< creates the next attempt, or starts the one that was created
    StopContainer,  ///< a sidecar whose pod has ended
    Finish,         ///< nothing runs and nothing will
  };
  Kind kind = Kind::Nothing;
  std::size_t container = 0; ///< index into the view
  Duration delay;            ///< back-off this start has waited for
  std::optional<TimePoint> not_before;
};

/// `held` are containers whose start failed or waits, and until when not to try them.
PodAction next_action(const PodView& view, const std::map<std::string, TimePoint>& held,
                      TimePoint now);

/// What to stop next in a pod that is to end: everything that runs but sidecars, then sidecars one
/// by one from the last. Empty: nothing runs.
std::vector<std::size_t> next_stops(const PodView& view);

/// The kubelet's crash back-off: at once, 10 s, doubling to 300 s; a run of 10 minutes starts it
/// again.
Duration restart_delay(const runtime::ContainerStatus& ended);
/// When the container may be started again; none if it is not waiting for its back-off.
std::optional<TimePoint> backing_off_until(const ContainerView& container,
                                           std::string_view restart_policy, TimePoint now);

/// Container annotation with the back-off, in seconds, before that attempt: the memory of
/// restart_delay.
inline constexpr std::string_view kRestartDelayAnnotation = "berth.dev/restart-delay";

} // namespace berth::node
