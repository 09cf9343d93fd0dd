// Lifecycle hooks of one pod's containers: postStart beside a container's first moments, preStop
// before it is asked to stop, within what it has to end in. Rule: kubelet pkg/kubelet/lifecycle and
// kuberuntime_container.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "berth/api/object.h"
#include "berth/base/loop.h"
#include "berth/node/pod_view.h"
#include "berth/node/probes/run_check.h"
#include "berth/node/tell.h"

namespace berth::node {

struct PodHooksEvents {
  Tell tell;
  /// A postStart hook has come to its end, well or not.
  std::function<void()> on_change;
  /// A postStart hook failed: the container is to be ended.
  std::function<void(const std::string& id)> on_failed;
};

struct HookedContainer {
  std::string id;
  std::string name;
  PodReach pod;
};

/// To be owned by a shared_ptr: nothing is called back once it is gone.
class PodHooks : public std::enable_shared_from_this<PodHooks> {
 public:
  PodHooks(CheckPlace place, PodHooksEvents events);

  /// The container has just been started. Nothing happens without a postStart hook.
  void post_start(const api::Object& pod, const HookedContainer& container);
  /// A postStart hook runs: the pod's next container waits.
  bool starting() const { return !starting_.empty(); }
  /// Containers whose postStart hook runs have not started, nor are they ready.
  void mark(PodView& view) const;

  /// The container is to end within `grace`. `stop` is called with what is left of that once its
  /// preStop hook is over, at once if there is none; a second call can only shorten the grace.
  void pre_stop(const api::Object& pod, const HookedContainer& container, Duration grace,
                std::function<void(Duration)> stop);

 private:
  struct Stopping;
  void run(const api::json::value& action, const api::json::value& spec,
           const HookedContainer& container, Duration timeout,
           std::function<void(CheckResult)> done);
  void over(const std::string& id);

  CheckPlace place_;
  PodHooksEvents events_;
  std::map<std::string, std::string> starting_;               ///< id to name
  std::map<std::string, std::shared_ptr<Stopping>> stopping_; ///< by id
};

} // namespace berth::node
