// One pod's part of the runtime: what is there, and the one request that changes it. Keeps the
// record right whatever the answers say; when to ask for what is the worker's business.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "berth/base/result.h"
#include "berth/node/container_start.h"
#include "berth/node/pod_view.h"
#include "berth/runtime/runtime.h"

namespace berth::node {

/// To be owned by a shared_ptr: nothing is called back once it is gone. `on_change` is called after
/// each answer, from within. Requests other than stop_container() must not be made while busy().
class PodRuntime : public std::enable_shared_from_this<PodRuntime> {
 public:
  PodRuntime(runtime::Runtime& runtime, DeviceManager& devices, std::string pod_uid,
             std::function<void()> on_change);

  const PodRecord& record() const { return record_; }
  /// A request is out.
  bool busy() const { return busy_; }

  /// What an earlier agent left.
  void restore(PodRecord record);
  void apply(const runtime::ContainerEvent& event);

  /// If it fails, what is there is read again: the sandbox may have been asked for by an agent that
  /// is gone.
  void run_sandbox(runtime::SandboxConfig config, std::function<void(const Result<void>&)> done);
  void stop_sandbox(const std::string& id);
  void remove_sandbox(const std::string& id);
  /// See start_container(). Attempts before the last two are removed.
  void start(StartOrder order, std::function<void(const StartResult&)> done);
  /// Its end is an event; should that be missed, the runtime's answer says that it is time to look.
  void stop_container(const std::string& id, Duration grace);

 private:
  template <class F> auto then(F next);
  void look_at(const std::string& container);
  void relist();
  void drop_old_attempts(const std::string& name);

  runtime::Runtime* runtime_;
  DeviceManager* devices_;
  std::string pod_uid_;
  std::function<void()> on_change_;
  PodRecord record_;
  bool busy_ = false;
};

} // namespace berth::node
