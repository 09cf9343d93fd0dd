// Running containers, in the shape of the Container Runtime Interface v1 (RuntimeService):
// sandboxes, containers, events. Simulated here; CRI over gRPC is the other form.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/api/object.h"
#include "berth/base/result.h"
#include "berth/base/time.h"

namespace berth::runtime {

template <class T> using Done = std::function<void(Result<T>)>;

struct SandboxConfig {
  std::string name; ///< the pod's
  std::string ns;
  std::string uid;
  std::uint32_t attempt = 0;
  bool host_network = false;
  api::Labels labels;
  api::Labels annotations;
};

struct Device {
  std::string container_path;
  std::string host_path;
  std::string permissions;
};

struct Mount {
  std::string container_path;
  std::string host_path;
  bool read_only = false;
};

struct ContainerConfig {
  std::string name;
  std::uint32_t attempt = 0;
  std::string image;
  std::vector<std::string> command;
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> envs; ///< in order; later values win
  std::vector<Mount> mounts;
  std::vector<Device> devices;
  api::Labels labels;
  api::Labels annotations;
  std::vector<std::string> cdi_devices; ///< qualified names
  std::string cpuset_cpus;              ///< CPUs it may run on, as Linux lists them; "": any
  std::string cpuset_mems;              ///< NUMA nodes its memory may be on; "": any
};

enum class SandboxState { Ready, NotReady };
enum class ContainerState { Created, Running, Exited, Unknown };

struct SandboxStatus {
  std::string id;
  std::string name;
  std::string ns;
  std::string uid;
  std::uint32_t attempt = 0;
  SandboxState state = SandboxState::Ready;
  TimePoint created_at;
  std::string ip; ///< "" for host network
  api::Labels labels;
  api::Labels annotations;
};

struct ContainerStatus {
  std::string id;
  std::string sandbox_id;
  std::string pod_uid;
  std::string name;
  std::uint32_t attempt = 0;
  ContainerState state = ContainerState::Created;
  TimePoint created_at;
  TimePoint started_at;
  TimePoint finished_at;
  int exit_code = 0;
  std::string reason; ///< "Completed", "Error", "OOMKilled", ...
  std::string message;
  std::string image;
  std::string image_id;
  api::Labels labels;
  api::Labels annotations;
};

struct Listing {
  std::vector<SandboxStatus> sandboxes;    ///< by creation
  std::vector<ContainerStatus> containers; ///< by creation
};

struct ContainerEvent {
  enum class Type { Created, Started, Stopped, Deleted };
  Type type = Type::Created;
  ContainerStatus status; ///< as of the event
};

/// Dropping it ends the stream; nothing is delivered afterwards.
class EventStream {
 public:
  virtual ~EventStream() = default;
};

/// Callbacks are later tasks of the Loop. Ids are the runtime's. A caller that goes away loses its
/// answers, never the containers: after a restart list() says what there is.
class Runtime {
 public:
  virtual ~Runtime() = default;

  /// The boot the machine is in; changes when the machine reboots and its containers are gone.
  virtual std::string boot_id() const = 0;
  /// Error AlreadyExists: that attempt of that pod exists or is being made, perhaps for an agent
  /// that is gone.
  virtual void run_pod_sandbox(SandboxConfig config, Done<SandboxStatus> done) = 0;
  /// Kills what still runs in it. Stopping a stopped one, or removing one that is gone, is no
  /// error.
  virtual void stop_pod_sandbox(const std::string& id, Done<void> done) = 0;
  virtual void remove_pod_sandbox(const std::string& id, Done<void> done) = 0;
  /// Errors: AlreadyExists (that attempt, as above), NotFound (sandbox), Unavailable (sandbox not
  /// ready), Invalid (unresolvable CDI devices).
  virtual void create_container(const std::string& sandbox_id, ContainerConfig config,
                                Done<std::string> done) = 0;
  /// Errors: NotFound, Conflict (not in created state), Unavailable (sandbox not ready).
  virtual void start_container(const std::string& id, Done<void> done) = 0;
  /// SIGTERM now, SIGKILL after `grace`; answered when it is dead. A second call can only shorten
  /// the grace.
  virtual void stop_container(const std::string& id, Duration grace, Done<void> done) = 0;
  virtual void remove_container(const std::string& id, Done<void> done) = 0;
  virtual void list(Done<Listing> done) = 0;
  virtual void container_status(const std::string& id, Done<ContainerStatus> done) = 0;
  virtual std::unique_ptr<EventStream>
  events(std::function<void(const ContainerEvent&)> on_event) = 0;
};

/// Labels every sandbox and container of a pod carries.
inline constexpr std::string_view kPodNameLabel = "io.kubernetes.pod.name";
inline constexpr std::string_view kPodNamespaceLabel = "io.kubernetes.pod.namespace";
inline constexpr std::string_view kPodUidLabel = "io.kubernetes.pod.uid";
inline constexpr std::string_view kContainerNameLabel = "io.kubernetes.container.name";
inline constexpr std::string_view kRestartCountAnnotation = "io.kubernetes.container.restartCount";
/// "init", "sidecar" or "app".
inline constexpr std::string_view kContainerRoleAnnotation = "berth.dev/container-role";

} // namespace berth::runtime
