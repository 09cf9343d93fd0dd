// One pod on its node, from admission to the removal of its object: compares what is with what
// should be, does one thing at a time, writes down what came of it. Holds no truth of its own:
// after a restart the runtime, the checkpoint and the API give it back.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "berth/api/object.h"
#include "berth/base/loop.h"
#include "berth/client/client.h"
#include "berth/client/events.h"
#include "berth/model/pod.h"
#include "berth/node/container_config.h"
#include "berth/node/device_manager.h"
#include "berth/node/pod_view.h"
#include "berth/runtime/runtime.h"

namespace berth::node {

/// What a worker stands on; everything outlives it.
struct WorkerPlace {
  Loop* loop = nullptr;
  client::Client* client = nullptr;
  runtime::Runtime* runtime = nullptr;
  DeviceManager* devices = nullptr;
  client::EventRecorder* events = nullptr;
  std::string host_ip;
  Duration device_wait;
  ContainerPlan::GpuMachine gpu_machine = ContainerPlan::GpuMachine::No;
  /// The worker needs less than before, or is over: others may go on. Called from within.
  std::function<void()> on_release;
};

/// Methods may be called from anywhere but its own callbacks; work happens in later tasks.
/// Destroying it is a crash.
class PodWorker {
 public:
  /// `pod` must decode (see model::pod_view).
  PodWorker(WorkerPlace place, api::Object pod);
  ~PodWorker();
  PodWorker(const PodWorker&) = delete;
  PodWorker& operator=(const PodWorker&) = delete;

  /// What an earlier agent left in the runtime: the pod was admitted then.
  void restore(PodRecord record);
  /// A newer version of the object.
  void update(api::Object pod);
  /// The object is gone from the API.
  void gone();
  void on_event(const runtime::ContainerEvent& event);
  /// Devices came, went or changed their health.
  void devices_changed();

  /// Admission's answers; `wait` may come many times before one of the others.
  void admit();
  void reject(std::string reason, std::string message);
  void wait(std::string message);

  const std::shared_ptr<const model::Pod>& pod() const;
  /// Neither admitted nor on its way out: somebody must decide.
  bool wants_admission() const;
  /// Counts against the node's resources.
  bool occupies() const;
  /// On its way out, but still there.
  bool dying() const;
  /// Nothing of it runs, its devices are free.
  bool finished() const;
  /// The object is gone and so is everything in the runtime: to be destroyed.
  bool removed() const;
  /// Nothing will happen by itself.
  bool settled() const;
  /// See repeats().
  bool repeating() const;
  /// "ns/name: what it is doing", for people.
  std::string describe() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

} // namespace berth::node
