// The probes of one pod's containers: begun when a container runs, over when it does not.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "berth/api/object.h"
#include "berth/node/pod_view.h"
#include "berth/node/probes/container_probes.h"
#include "berth/node/tell.h"

namespace berth::node {

struct PodProbesEvents {
  Tell tell;
  std::function<void()> on_change;
  /// A container is to be ended; `why` is what the event Killing says.
  std::function<void(const std::string& id, const std::string& why, std::optional<Duration> grace)>
      on_failed;
};

/// How far a pod that is to end has come: a container is left in peace by all but its readiness.
enum class PodCourse { Running, Ending };

class PodProbes {
 public:
  PodProbes(CheckPlace place, PodProbesEvents events);

  /// Follows what runs now. O(containers).
  void follow(const api::Object& pod, const PodView& view, PodCourse course);
  /// Writes down in the view what the probes have found.
  void mark(PodView& view) const;

 private:
  void begin(const api::json::value& spec, const ContainerView& container, PodReach pod);

  CheckPlace place_;
  PodProbesEvents events_;
  std::map<std::string, std::shared_ptr<ContainerProbes>> containers_; ///< by id; with probes alone
};

} // namespace berth::node
