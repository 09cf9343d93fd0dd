// One pod as the runtime shows it, put in the order of its spec: the input of what to do next and
// of its status.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "berth/model/pod.h"
#include "berth/node/device_request.h"
#include "berth/runtime/runtime.h"

namespace berth::node {

/// What the runtime has of one pod.
struct PodRecord {
  std::map<std::string, runtime::SandboxStatus> sandboxes;    ///< by id
  std::map<std::string, runtime::ContainerStatus> containers; ///< by id
};

/// Takes an event in. A state never goes back; of containers that are not known only the making is
/// heard.
void apply_event(PodRecord& record, const runtime::ContainerEvent& event);

struct ContainerView {
  const model::Container* spec = nullptr;
  Role role = Role::App;
  /// The attempt that counts now; nullptr: none yet (or none in the present sandbox, and it must
  /// run again).
  const runtime::ContainerStatus* current = nullptr;
  /// The attempt before that.
  const runtime::ContainerStatus* previous = nullptr;
  std::uint32_t next_attempt = 0;
  bool starting = false; ///< it runs, but its startup probe or its postStart hook is not over
  bool unready = false;  ///< it runs, but its probes do not call it ready

  bool running() const { return current && current->state == runtime::ContainerState::Running; }
  bool started() const { return running() && !starting; }
  bool exited() const { return current && current->state == runtime::ContainerState::Exited; }
  bool succeeded() const { return exited() && current->exit_code == 0; }
};

/// Points into the pod and the record it was made of.
struct PodView {
  const model::Pod* pod = nullptr;
  const runtime::SandboxStatus* sandbox = nullptr; ///< the latest; nullptr: none yet
  std::vector<ContainerView> containers;           ///< init containers first

  bool sandbox_ready() const { return sandbox && sandbox->state == runtime::SandboxState::Ready; }
  bool any_running() const;
  /// An app container has been created in the present sandbox, so that init containers are done
  /// with.
  bool init_phase_over() const;
};

/// After its sandbox died a pod begins anew: init containers run again, and app containers unless
/// the restart policy says that their end was final.
PodView make_pod_view(const model::Pod& pod, const PodRecord& record);

/// The pod does over and over what it has done before: a container that restarts although it ended
/// well (policy Always) runs for the second time, or one has failed a dozen times. Only its
/// deletion or deadline will change that.
bool repeats(const PodView& view);

/// Whether a container that ended so is to be started again.
bool restarts(Role role, std::string_view restart_policy, int exit_code);

} // namespace berth::node
