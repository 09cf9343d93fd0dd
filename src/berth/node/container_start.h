// Starting one container: its devices, then create, then start at the runtime.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "berth/api/object.h"
#include "berth/model/pod.h"
#include "berth/node/container_config.h"
#include "berth/node/device_manager.h"
#include "berth/node/pod_status.h"
#include "berth/node/pod_view.h"
#include "berth/runtime/runtime.h"

namespace berth::node {

struct StartOrder {
  api::Object object;
  std::shared_ptr<const model::Pod> pod;
  const model::Container* container = nullptr; ///< of `pod`
  Role role = Role::App;
  std::uint32_t attempt = 0;
  Duration restart_delay;
  std::string sandbox_id;
  std::string created_id; ///< a container that was created and not started; "" to create one
  std::string pod_ip;     ///< "": that of the host
  std::string host_ip;
  ContainerPlan::GpuMachine gpu_machine = ContainerPlan::GpuMachine::No;
  AllocationScope scope = AllocationScope::Whole; ///< if devices must be allocated again
  std::optional<ContainerContents> contents;      ///< of a real machine, got ready before
};

/// The order for a container of the view, whose pod has a sandbox. `restart_delay` is the back-off
/// that this start has waited for.
StartOrder make_start_order(const api::Object& object, std::shared_ptr<const model::Pod> pod,
                            const PodView& view, std::size_t container, Duration restart_delay);

struct StartResult {
  enum class Kind {
    Started,
    DevicesWait,     ///< `why.message`: a plugin is coming back
    DevicesRejected, ///< `why.message`: the pod cannot have its devices any more
    UnderWay,        ///< another agent, now gone, has asked for the same attempt
    Failed,          ///< `why`: create or start failed
  };
  Kind kind = Kind::Started;
  runtime::ContainerStatus status; ///< of the started container
  Reason why;
};

/// `done` comes once, by a later task, and only while `alive` lives; after that no further step is
/// taken.
void start_container(DeviceManager& devices, runtime::Runtime& runtime,
                     const std::weak_ptr<void>& alive, StartOrder order,
                     std::function<void(StartResult)> done);

} // namespace berth::node
