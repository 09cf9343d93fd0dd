// Running containers, in the shape of the Container Runtime Interface v1 (RuntimeService):
// sandboxes, containers, events. Simulated here; CRI over gRPC is the other form.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
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

/// Whom a container's processes run as and what they may do: CRI's LinuxContainerSecurityContext.
struct SecurityContext {
  std::optional<std::int64_t> run_as_user;
  std::optional<std::int64_t> run_as_group;
  std::vector<std::int64_t> supplemental_groups;
  bool privileged = false;
  bool read_only_root = false;
  bool no_new_privileges = false;
  std::vector<std::string> add_capabilities;
  std::vector<std::string> drop_capabilities;
  enum class Seccomp { Unconfined, RuntimeDefault, Localhost } seccomp = Seccomp::Unconfined;
  std::string seccomp_profile; ///< of Localhost

  bool operator==(const SecurityContext&) const = default;
};

/// CRI's LinuxContainerResources; 0 and "" leave a value to the runtime.
struct Resources {
  std::int64_t cpu_shares = 0;
  std::int64_t cpu_quota_us = 0; ///< -1: no limit
  std::int64_t cpu_period_us = 0;
  std::int64_t memory_limit_bytes = 0;
  std::int64_t oom_score_adj = 0;
  std::map<std::string, std::int64_t> hugepages; ///< bytes by page size, "2MB"

  bool operator==(const Resources&) const = default;
};

/// What a pod's resolv.conf says.
struct DnsConfig {
  std::vector<std::string> servers;
  std::vector<std::string> searches;
  std::vector<std::string> options; ///< "ndots:5"

  bool operator==(const DnsConfig&) const = default;
};

/// A port of the machine that leads to a pod with a network of its own.
struct PortMapping {
  enum class Protocol { Tcp, Udp, Sctp } protocol = Protocol::Tcp;
  std::int32_t container_port = 0;
  std::int32_t host_port = 0;
  std::string host_ip;

  bool operator==(const PortMapping&) const = default;
};

struct SandboxConfig {
  std::string name; ///< the pod's
  std::string ns;
  std::string uid;
  std::uint32_t attempt = 0;
  bool host_network = false;
  bool host_pid = false;
  bool host_ipc = false;
  bool share_process_namespace = false;
  std::string hostname;
  std::string log_directory; ///< of the pod; "": its containers' output is not kept
  api::Labels labels;
  api::Labels annotations;
  SecurityContext security;     ///< of the pod: what its containers do not say otherwise
  std::optional<DnsConfig> dns; ///< none: the runtime's choice
  std::vector<PortMapping> ports;
  std::map<std::string, std::string> sysctls;
};

struct Device {
  std::string container_path;
  std::string host_path;
  std::string permissions;
};

struct Mount {
  enum class Propagation { Private, HostToContainer, Bidirectional };
  std::string container_path;
  std::string host_path;
  bool read_only = false;
  Propagation propagation = Propagation::Private;

  bool operator==(const Mount&) const = default;
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
  std::string working_dir;
  std::string log_path; ///< below the sandbox's log directory, "app/0.log"
  bool tty = false;
  bool stdin_open = false;
  bool stdin_once = false;
  Resources resources;
  SecurityContext security;
  std::string cpuset_cpus; ///< CPUs it may run on, as Linux lists them; "": any
  std::string cpuset_mems; ///< NUMA nodes its memory may be on; "": any
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
  /// Of a sandbox that has only_loopback(): the path of its network namespace, if it is known.
  std::string network_namespace;
  api::Labels labels;
  api::Labels annotations;
};

/// Nothing but its own containers reaches it over the network, nor do they reach anything else.
bool only_loopback(const SandboxStatus& sandbox);

struct ContainerStatus {
  std::string id;
  std::string runtime = "berth"; ///< whose id that is: "containerd://ID" in a pod's status
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
  std::string log_path; ///< on the machine; "" if nothing is kept there
  api::Labels labels;
  api::Labels annotations;
};

struct Listing {
  std::vector<SandboxStatus> sandboxes;    ///< by creation
  std::vector<ContainerStatus> containers; ///< by creation
};

/// What of a machine a container or a sandbox has used; none: not told.
struct Usage {
  TimePoint at;                             ///< when it was measured
  std::optional<std::int64_t> cpu_nanos;    ///< of all its life
  std::optional<std::int64_t> memory_bytes; ///< working set: what cannot be taken from it at once
  std::optional<std::int64_t> memory_usage_bytes;
  std::optional<std::int64_t> memory_rss_bytes;
  std::optional<std::int64_t> page_faults;
  std::optional<std::int64_t> major_page_faults;
};

struct ContainerUsage {
  std::string id;
  std::string name;
  std::string pod_uid;
  std::string pod_ns;
  std::string pod_name;
  Usage usage;
  std::optional<std::int64_t> written_bytes; ///< to its own file system
  std::optional<std::int64_t> written_inodes;
};

struct SandboxUsage {
  std::string id;
  std::string pod_uid;
  Usage usage; ///< of all that is in it
  struct Interface {
    std::string name;
    std::int64_t received_bytes = 0;
    std::int64_t receive_errors = 0;
    std::int64_t sent_bytes = 0;
    std::int64_t send_errors = 0;
  };
  std::vector<Interface> interfaces; ///< the default one first
  std::optional<std::int64_t> processes;
};

struct Usages {
  std::vector<ContainerUsage> containers; ///< that run
  std::vector<SandboxUsage> sandboxes;    ///< of runtimes that tell them
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

/// Empty: nobody in particular.
struct RegistryLogin {
  std::string username;
  std::string password;
  std::string server;
};

/// Whom an image says its processes run as; neither: root.
struct ImageUser {
  std::optional<std::int64_t> uid;
  std::string name; ///< where it says a name, which only its own files could resolve
};

/// What a machine has of images. Callbacks are later tasks of the Loop.
class Images {
 public:
  virtual ~Images() = default;

  /// The id of an image that is there; nullopt if it is not. Error Invalid: no name of an image.
  virtual void find(const std::string& image, Done<std::optional<std::string>> done) = 0;
  /// Gives the id of what was fetched.
  virtual void pull(const std::string& image, const RegistryLogin& login,
                    Done<std::string> done) = 0;
  /// Of an image that is there. Who does not know says root, the answer that keeps a container that
  /// must not be root from being so.
  virtual void user_of(const std::string& image, Done<ImageUser> done);
};

struct ExecResult {
  int exit_code = 0;
  std::string out;
  std::string err;
};

/// What of a process's streams somebody wants to have.
struct StreamWish {
  bool in = false;
  bool out = true;
  bool err = true;
  bool tty = false;
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
  /// Lets a created or running container run on these CPUs alone, as Linux lists them. Errors:
  /// NotFound, Conflict (it has ended).
  virtual void set_cpus(const std::string& id, const std::string& cpus, Done<void> done);
  virtual void list(Done<Listing> done) = 0;
  virtual void container_status(const std::string& id, Done<ContainerStatus> done) = 0;
  virtual std::unique_ptr<EventStream>
  events(std::function<void(const ContainerEvent&)> on_event) = 0;

  /// What all containers use, measured now.
  virtual void usages(Done<Usages> done);

  /// nullptr: every image is always there.
  virtual Images* images() { return nullptr; }

  // What only containers of a real machine do; the simulated ones answer with Error BadRequest, at
  // once.

  /// Runs a command in a running container to its end. Errors: NotFound, Timeout.
  virtual void exec_sync(const std::string& id, const std::vector<std::string>& command,
                         Duration timeout, Done<ExecResult> done);
  /// The URL of a streaming server where the command waits to be run, the container's own process
  /// to be attached to, or ports of the sandbox to be connected (remotecommand protocol).
  virtual void exec_url(const std::string& id, const std::vector<std::string>& command,
                        const StreamWish& wish, Done<std::string> done);
  virtual void attach_url(const std::string& id, const StreamWish& wish, Done<std::string> done);
  virtual void port_forward_url(const std::string& sandbox_id,
                                const std::vector<std::int32_t>& ports, Done<std::string> done);
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
