// When each container of a pod that is to end must have ended. Remembers what was asked, so that
// nothing is asked twice and a shorter grace is passed on. A value.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "berth/base/time.h"
#include "berth/node/pod_view.h"

namespace berth::node {

struct StopOrder {
  std::string id;
  std::string container; ///< its name
  Duration grace;
  bool first = false; ///< it has not been asked to end before
};

class StopDeadlines {
 public:
  /// What to ask now of the containers that are to stop next (see next_stops), in a pod that has
  /// `grace` left from now on. A sidecar has no more than its own 30 s.
  std::vector<StopOrder> orders(const PodView& view, Duration grace, TimePoint now);

 private:
  std::map<std::string, TimePoint> kill_at_; ///< by container id
};

} // namespace berth::node
