#include "berth/runtime/cri/cri_messages.h"

#include <algorithm>
#include <array>

#include <boost/json/array.hpp>
#include <fmt/format.h>

#include "berth/api/json.h"

namespace berth::runtime::cri {
namespace {

// What containers do not see of the kernel unless they are privileged: the kubelet's defaults.
constexpr std::array<const char*, 9> kMaskedPaths{
    "/proc/asound",        "/proc/acpi",       "/proc/interrupts",  "/proc/kcore",  "/proc/keys",
    "/proc/latency_stats", "/proc/timer_list", "/proc/sched_debug", "/sys/firmware"};
constexpr std::array<const char*, 5> kReadOnlyPaths{"/proc/bus", "/proc/fs", "/proc/irq",
                                                    "/proc/sys", "/proc/sysrq-trigger"};

constexpr std::string_view kHostNetwork = "network";
constexpr std::string_view kHostPid = "pid";
constexpr std::string_view kHostIpc = "ipc";
constexpr std::string_view kSharedPid = "shared-pid";

std::string host_namespaces(const SandboxConfig& config) {
  std::string text;
  const auto add = [&](bool has, std::string_view name) {
    if (has) {
      text += text.empty() ? "" : ",";
      text += name;
    }
  };
  add(config.host_network, kHostNetwork);
  add(config.host_pid, kHostPid);
  add(config.host_ipc, kHostIpc);
  add(config.share_process_namespace, kSharedPid);
  return text;
}

bool names(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const std::string_view each = list.substr(0, list.find(','));
    if (each == name) {
      return true;
    }
    list.remove_prefix(std::min(list.size(), each.size() + 1));
  }
  return false;
}

void set_namespaces(const SandboxConfig& config, pb::NamespaceOption& option) {
  option.set_network(config.host_network ? pb::NODE : pb::POD);
  option.set_ipc(config.host_ipc ? pb::NODE : pb::POD);
  option.set_pid(config.host_pid                  ? pb::NODE
                 : config.share_process_namespace ? pb::POD
                                                  : pb::CONTAINER);
}

void set_seccomp(const SecurityContext& security, pb::SecurityProfile& profile) {
  switch (security.seccomp) {
  case SecurityContext::Seccomp::Unconfined:
    profile.set_profile_type(pb::SecurityProfile::Unconfined);
    return;
  case SecurityContext::Seccomp::RuntimeDefault:
    profile.set_profile_type(pb::SecurityProfile::RuntimeDefault);
    return;
  case SecurityContext::Seccomp::Localhost:
    profile.set_profile_type(pb::SecurityProfile::Localhost);
    profile.set_localhost_ref(security.seccomp_profile);
    return;
  }
}

/// Sandboxes and containers say these in fields of the same names.
template <class Message> void set_identity(const SecurityContext& security, Message& message) {
  if (security.run_as_user) {
    message.mutable_run_as_user()->set_value(*security.run_as_user);
  }
  if (security.run_as_group) {
    message.mutable_run_as_group()->set_value(*security.run_as_group);
  }
  for (const std::int64_t group : security.supplemental_groups) {
    message.add_supplemental_groups(group);
  }
  message.set_privileged(security.privileged);
  message.set_readonly_rootfs(security.read_only_root);
  set_seccomp(security, *message.mutable_seccomp());
}

void set_security(const SecurityContext& security, const SandboxConfig& sandbox,
                  pb::LinuxContainerSecurityContext& message) {
  set_identity(security, message);
  set_namespaces(sandbox, *message.mutable_namespace_options());
  message.set_no_new_privs(security.no_new_privileges);
  for (const std::string& name : security.add_capabilities) {
    message.mutable_capabilities()->add_add_capabilities(name);
  }
  for (const std::string& name : security.drop_capabilities) {
    message.mutable_capabilities()->add_drop_capabilities(name);
  }
  if (!security.privileged) {
    message.mutable_masked_paths()->Add(kMaskedPaths.begin(), kMaskedPaths.end());
    message.mutable_readonly_paths()->Add(kReadOnlyPaths.begin(), kReadOnlyPaths.end());
  }
}

void set_resources(const Resources& resources, pb::LinuxContainerResources& message) {
  message.set_cpu_period(resources.cpu_period_us);
  message.set_cpu_quota(resources.cpu_quota_us);
  message.set_cpu_shares(resources.cpu_shares);
  message.set_memory_limit_in_bytes(resources.memory_limit_bytes);
  message.set_oom_score_adj(resources.oom_score_adj);
  for (const auto& [size, bytes] : resources.hugepages) {
    pb::HugepageLimit& added = *message.add_hugepage_limits();
    added.set_page_size(size);
    added.set_limit(static_cast<std::uint64_t>(bytes));
  }
}

pb::Protocol protocol_of(PortMapping::Protocol protocol) {
  return protocol == PortMapping::Protocol::Udp    ? pb::UDP
         : protocol == PortMapping::Protocol::Sctp ? pb::SCTP
                                                   : pb::TCP;
}

void set_network(const SandboxConfig& config, pb::PodSandboxConfig& message) {
  if (config.dns) {
    pb::DNSConfig& dns = *message.mutable_dns_config();
    dns.mutable_servers()->Add(config.dns->servers.begin(), config.dns->servers.end());
    dns.mutable_searches()->Add(config.dns->searches.begin(), config.dns->searches.end());
    dns.mutable_options()->Add(config.dns->options.begin(), config.dns->options.end());
  }
  for (const PortMapping& port : config.ports) {
    pb::PortMapping& added = *message.add_port_mappings();
    added.set_protocol(protocol_of(port.protocol));
    added.set_container_port(port.container_port);
    added.set_host_port(port.host_port);
    added.set_host_ip(port.host_ip);
  }
}

pb::MountPropagation propagation_of(Mount::Propagation propagation) {
  switch (propagation) {
  case Mount::Propagation::Private:
    break;
  case Mount::Propagation::HostToContainer:
    return pb::PROPAGATION_HOST_TO_CONTAINER;
  case Mount::Propagation::Bidirectional:
    return pb::PROPAGATION_BIDIRECTIONAL;
  }
  return pb::PROPAGATION_PRIVATE;
}

void set_mounts(const ContainerConfig& config, pb::ContainerConfig& message) {
  for (const Mount& mount : config.mounts) {
    pb::Mount& added = *message.add_mounts();
    added.set_container_path(mount.container_path);
    added.set_host_path(mount.host_path);
    added.set_readonly(mount.read_only);
    added.set_propagation(propagation_of(mount.propagation));
  }
}

api::Labels labels_of(const google::protobuf::Map<std::string, std::string>& map) {
  return {map.begin(), map.end()};
}

std::string label(const api::Labels& labels, std::string_view key) {
  const auto it = labels.find(std::string(key));
  return it == labels.end() ? "" : it->second;
}

} // namespace

pb::PodSandboxConfig to_message(const SandboxConfig& config) {
  pb::PodSandboxConfig message;
  message.mutable_metadata()->set_name(config.name);
  message.mutable_metadata()->set_namespace_(config.ns);
  message.mutable_metadata()->set_uid(config.uid);
  message.mutable_metadata()->set_attempt(config.attempt);
  // In the machine's network namespace the machine's name stays.
  message.set_hostname(config.host_network ? "" : config.hostname);
  message.set_log_directory(config.log_directory);
  message.mutable_labels()->insert(config.labels.begin(), config.labels.end());
  message.mutable_annotations()->insert(config.annotations.begin(), config.annotations.end());
  auto& annotations = *message.mutable_annotations();
  annotations[std::string(kLogDirectoryAnnotation)] = config.log_directory;
  annotations[std::string(kHostNamespacesAnnotation)] = host_namespaces(config);
  set_network(config, message);
  message.mutable_linux()->mutable_sysctls()->insert(config.sysctls.begin(), config.sysctls.end());
  auto& security = *message.mutable_linux()->mutable_security_context();
  set_identity(config.security, security);
  set_namespaces(config, *security.mutable_namespace_options());
  return message;
}

pb::ContainerConfig to_message(const ContainerConfig& config, const SandboxConfig& sandbox) {
  pb::ContainerConfig message;
  message.mutable_metadata()->set_name(config.name);
  message.mutable_metadata()->set_attempt(config.attempt);
  message.mutable_image()->set_image(config.image);
  message.mutable_image()->set_user_specified_image(config.image);
  message.mutable_command()->Add(config.command.begin(), config.command.end());
  message.mutable_args()->Add(config.args.begin(), config.args.end());
  message.set_working_dir(config.working_dir);
  for (const auto& [name, value] : config.envs) {
    pb::KeyValue& added = *message.add_envs();
    added.set_key(name);
    added.set_value(value);
  }
  set_mounts(config, message);
  for (const Device& device : config.devices) {
    pb::Device& added = *message.add_devices();
    added.set_container_path(device.container_path);
    added.set_host_path(device.host_path);
    added.set_permissions(device.permissions);
  }
  for (const std::string& name : config.cdi_devices) {
    message.add_cdi_devices()->set_name(name);
  }
  message.mutable_labels()->insert(config.labels.begin(), config.labels.end());
  message.mutable_annotations()->insert(config.annotations.begin(), config.annotations.end());
  message.set_log_path(config.log_path);
  message.set_tty(config.tty);
  message.set_stdin(config.stdin_open);
  message.set_stdin_once(config.stdin_once);
  pb::LinuxContainerResources& resources = *message.mutable_linux()->mutable_resources();
  set_resources(config.resources, resources);
  resources.set_cpuset_cpus(config.cpuset_cpus);
  resources.set_cpuset_mems(config.cpuset_mems);
  set_security(config.security, sandbox, *message.mutable_linux()->mutable_security_context());
  return message;
}

SandboxConfig config_of(const SandboxStatus& status) {
  const std::string namespaces = label(status.annotations, kHostNamespacesAnnotation);
  return {.name = status.name,
          .ns = status.ns,
          .uid = status.uid,
          .attempt = status.attempt,
          .host_network = names(namespaces, kHostNetwork),
          .host_pid = names(namespaces, kHostPid),
          .host_ipc = names(namespaces, kHostIpc),
          .share_process_namespace = names(namespaces, kSharedPid),
          .log_directory = label(status.annotations, kLogDirectoryAnnotation),
          .labels = status.labels,
          .annotations = status.annotations};
}

SandboxStatus to_status(const pb::PodSandboxStatus& status) {
  return {.id = status.id(),
          .name = status.metadata().name(),
          .ns = status.metadata().namespace_(),
          .uid = status.metadata().uid(),
          .attempt = status.metadata().attempt(),
          .state =
              status.state() == pb::SANDBOX_READY ? SandboxState::Ready : SandboxState::NotReady,
          .created_at = TimePoint::from_unix_nanos(status.created_at()),
          .ip = status.network().ip(),
          .labels = labels_of(status.labels()),
          .annotations = labels_of(status.annotations())};
}

std::string network_namespace(const pb::PodSandboxStatusResponse& verbose) {
  const auto text = verbose.info().find("info");
  const auto info = text == verbose.info().end() ? Result<api::json::value>(nullptr)
                                                 : api::parse_json(text->second);
  if (!info) {
    return "";
  }
  const api::json::value* namespaces = api::find_path(*info, "runtimeSpec.linux.namespaces");
  if (namespaces && namespaces->is_array()) {
    for (const api::json::value& each : namespaces->get_array()) {
      if (api::string_at(each, "type") == "network" && !api::string_at(each, "path").empty()) {
        return std::string(api::string_at(each, "path"));
      }
    }
  }
  const api::json::value* pid = api::find(*info, "pid");
  return pid && pid->is_int64() && pid->get_int64() > 0
             ? fmt::format("/proc/{}/ns/net", pid->get_int64())
             : "";
}

ContainerState to_state(pb::ContainerState state) {
  switch (state) {
  case pb::CONTAINER_CREATED:
    return ContainerState::Created;
  case pb::CONTAINER_RUNNING:
    return ContainerState::Running;
  case pb::CONTAINER_EXITED:
    return ContainerState::Exited;
  default:
    return ContainerState::Unknown;
  }
}

ContainerStatus to_status(const pb::ContainerStatus& status, const ContainerContext& context) {
  const api::Labels labels = labels_of(status.labels());
  return {.id = status.id(),
          .runtime = context.runtime,
          .sandbox_id = context.sandbox_id,
          .pod_uid = label(labels, kPodUidLabel),
          .name = status.metadata().name(),
          .attempt = status.metadata().attempt(),
          .state = to_state(status.state()),
          .created_at = TimePoint::from_unix_nanos(status.created_at()),
          .started_at = TimePoint::from_unix_nanos(status.started_at()),
          .finished_at = TimePoint::from_unix_nanos(status.finished_at()),
          .exit_code = status.exit_code(),
          .reason = status.reason(),
          .message = status.message(),
          .image = status.image().image(),
          .image_id = status.image_ref(),
          .log_path = status.log_path(),
          .labels = labels,
          .annotations = labels_of(status.annotations())};
}

} // namespace berth::runtime::cri
