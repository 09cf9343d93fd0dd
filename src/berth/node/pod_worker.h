// One pod on its node, from admission to the removal of its object: compares what is with what
// should be, does one thing at a time, writes down what came of it. Holds no truth of its own:
// after a restart the runtime, the checkpoint and the API give it back.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "berth/api/object.h"
#include "berth/base/loop.h"
#include "berth/client/client.h"
#include "berth/client/events.h"
#include "berth/model/pod.h"
#include "berth/node/container_config.h"
#include "berth/node/device_health_watch.h"
#include "berth/node/device_manager.h"
#include "berth/node/empty_dir_limits.h"
#include "berth/node/hooks/pod_hooks.h"
#include "berth/node/pod_actions.h"
#include "berth/node/pod_contents.h"
#include "berth/node/pod_runtime.h"
#include "berth/node/pod_verdict.h"
#include "berth/node/pod_view.h"
#include "berth/node/pod_writer.h"
#include "berth/node/probes/pod_probes.h"
#include "berth/node/start_holds.h"
#include "berth/node/stop_deadlines.h"
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
  bool has_gpus = false;                      ///< an inventory shows some; plugins may give others
  bool tells_hami = false;                    ///< how it went, in annotation hami.io/bind-phase
  Contents* contents = nullptr;               ///< of a real machine; null for a simulated one
  std::shared_ptr<const NodeAmounts> amounts; ///< where there are contents
  /// The worker needs less than before, or is over: others may go on. Called from within.
  std::function<void()> on_release;
};

/// Methods may be called from anywhere but its own callbacks; work happens in later tasks.
/// Destroying it is a crash.
class PodWorker : public std::enable_shared_from_this<PodWorker> {
 public:
  /// `pod` must decode (see model::pod_view).
  static std::shared_ptr<PodWorker> make(WorkerPlace place, api::Object pod);
  PodWorker(const PodWorker&) = delete;
  PodWorker& operator=(const PodWorker&) = delete;

  /// What an earlier agent left in the runtime: the pod was admitted then.
  void restore(PodRecord record);
  /// A newer version of the object.
  void update(api::Object newer);
  /// The object is gone from the API.
  void gone();
  void on_event(const runtime::ContainerEvent& event);
  /// Devices came, went or changed their health.
  void devices_changed();

  /// Admission's answers; `wait` may come many times before one of the others.
  void admit();
  void reject(std::string reason, const std::string& message);
  /// `reason` is what a rejection for the same cause would have; "" for a failed allocation.
  void wait(const std::string& message, const std::string& reason = "");

  const std::shared_ptr<const model::Pod>& pod() const { return pod_; }
  const api::Object& stored() const { return writer_->pod(); }
  /// Its sandboxes and containers, as far as they are known.
  const PodRecord& record() const { return containers_->record(); }
  /// Neither admitted nor on its way out: somebody must decide.
  bool wants_admission() const { return !admitted_ && !ending(); }
  /// Counts against the node's resources.
  bool occupies() const { return admitted_ && !finished_; }
  /// The init phase is over, and what it alone held has been released.
  bool init_over() const { return init_surplus_released_; }
  /// On its way out, but still there.
  bool dying() const { return ending() && !finished_; }
  /// Nothing of it runs, its devices are free.
  bool finished() const { return finished_; }
  /// The object is gone and so is everything in the runtime: to be destroyed.
  bool removed() const { return removed_; }
  /// Nothing will happen by itself.
  bool settled() const;
  /// See repeats().
  bool repeating() const { return repeats(view()); }
  /// "ns/name: what it is doing", for people.
  std::string describe() const;

 private:
  PodWorker(WorkerPlace place, const api::Object& pod);
  void begin(api::Object pod);

  const api::Object& object() const { return writer_->pod(); }
  TimePoint now() const { return place_.loop->now(); }
  PodView view() const;
  bool deleting() const { return object().meta().deletion_timestamp.has_value(); }
  bool ending() const { return object_gone_ || verdict_ || deleting(); }

  void take(api::Object newer);
  void kick();
  void wake_at(TimePoint time);
  void sync();
  void run(const PodView& now_is);
  void release_init_surplus(const PodView& now_is);
  bool gives_gpus() const;
  void stop(const PodView& now_is);
  void finish(const PodView& now_is);
  void clean_up();
  void make_contents();
  bool has_ground(const PodView& now_is);
  bool complete_sandbox(runtime::SandboxConfig& config);
  bool take_contents(const ContainerView& each, StartOrder& order);
  PodReach reach() const;
  void add_facts(StatusFacts& facts, const api::json::value* stored) const;
  void stop_container(const std::string& id, const std::string& name, Duration grace);
  void end_unhealthy(const std::string& id, const std::string& why, std::optional<Duration> grace);
  void create_sandbox(const PodView& now_is);
  void start(const PodView& now_is, const PodAction& action);
  void started(const std::string& name, Role role, const StartResult& result);
  void hold_for_devices(const std::string& message);
  void devices_did_not_come();
  bool in_passing() const;
  void tell_bind_phase(std::string_view phase);
  void write_status_soon();
  void write_status();
  api::json::object status(const api::json::value* stored) const;
  void set_deadline();
  void event(client::EventType type, std::string_view reason, const std::string& message);

  WorkerPlace place_;
  std::shared_ptr<const model::Pod> pod_;
  std::shared_ptr<PodRuntime> containers_;
  std::unique_ptr<PodWriter> writer_;
  api::Object taken_; ///< the version that this goes by
  /// Of a real machine; all null on a simulated one.
  std::shared_ptr<PodContents> contents_;
  std::unique_ptr<PodProbes> probes_;
  std::shared_ptr<PodHooks> hooks_;
  std::shared_ptr<EmptyDirLimits> limits_;
  std::optional<TimePoint> start_time_;

  bool admitted_ = false;
  bool object_gone_ = false;
  bool sync_posted_ = false;
  bool finished_ = false;
  bool removed_ = false;
  bool told_ = false; ///< its status has been written since it was admitted
  bool init_surplus_released_ = false;
  enum class Files { There, Going, Gone } files_ = Files::Gone; ///< the pod's, on a real machine
  std::optional<Verdict> verdict_;
  StartHolds holds_;
  StopDeadlines stops_;
  DeviceHealthWatch health_;
  std::string device_message_; ///< why devices are waited for
  std::string device_reason_;  ///< of the rejection if they do not come
  Timer wake_;
  Timer deadline_;
  Timer device_wait_;
  Timer status_wait_;
};

} // namespace berth::node
