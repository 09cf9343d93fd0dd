// The walk of every pod as the API shows it: one mark a step, and the time spent in each state.
// Made by watching; nothing reports to it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/base/loop.h"
#include "berth/client/client.h"

namespace berth::cluster {

/// States in the order of a healthy walk; Unschedulable and Gated are detours of Pending.
enum class PodState {
  Pending,
  Gated,
  Unschedulable,
  Bound,
  ContainerCreating,
  Running,
  Succeeded,
  Failed,
  Deleted
};
std::string_view to_string(PodState state);

/// One line of the timeline.
struct Mark {
  TimePoint at;
  std::string object; ///< "pod/ns/name", "job/ns/name", "node/name", "podgroup/ns/name"
  std::string what;   ///< PodState's name, or an Event's reason, e.g. "Scheduled", "NodeNotReady"
  std::string detail; ///< e.g. "dgx-h100-1 GPUs 0-7", the event's message
  bool warning = false;
};

struct PodWalk {
  api::Key key;
  PodState state = PodState::Pending;
  std::vector<std::pair<PodState, TimePoint>>
      history; ///< each entry of a state, times ascending; first is creation, so that the times in
               ///< all states add up to the pod's lifetime
  api::Object last; ///< the last version seen, also after deletion

  /// Time spent in `state` up to `now` (or up to the end of the walk).
  Duration time_in(PodState state, TimePoint now) const;
};

class FlightRecord {
 public:
  /// Starts watching at once; `on_mark` (may be empty) is called for each mark as it is made.
  FlightRecord(client::Client& client, Loop& loop, std::function<void(const Mark&)> on_mark);
  ~FlightRecord();
  FlightRecord(const FlightRecord&) = delete;
  FlightRecord& operator=(const FlightRecord&) = delete;

  const std::vector<Mark>& marks() const;
  /// Every pod ever seen, in order of first sight.
  const std::vector<std::shared_ptr<const PodWalk>>& pods() const;
  /// Time of the last change that was progress: a state reached, an object created or gone (not a
  /// repeated event).
  TimePoint last_progress() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace berth::cluster
