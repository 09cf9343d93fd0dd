// What the level baseline forbids. Source: k8s.io/pod-security-admission/policy/check_*.go.
#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/api/json.h"
#include "berth/store/pod_standards/checks.h"

namespace berth::store {
namespace {

namespace json = boost::json;
using Found = std::optional<Violation>;
using Names = std::vector<std::string>;

bool is_true(const json::value* value) {
  return value != nullptr && value->is_bool() && value->get_bool();
}

bool spec_is_true(const PodShown& pod, std::string_view path) {
  return pod.spec != nullptr && is_true(api::find_path(*pod.spec, path));
}

std::string_view spec_text(const PodShown& pod, std::string_view path) {
  return pod.spec == nullptr ? std::string_view() : api::string_at(*pod.spec, path);
}

template <class F> void each_of(const json::value& of, std::string_view path, const F& f) {
  const json::value* list = api::find_path(of, path);
  if (list != nullptr && list->is_array()) {
    std::ranges::for_each(list->get_array(), f);
  }
}

template <class F> void each_annotation(const PodShown& pod, const F& f) {
  const json::value* all =
      pod.metadata == nullptr ? nullptr : api::find(*pod.metadata, "annotations");
  if (all != nullptr && all->is_object()) {
    for (const auto& [key, value] : all->get_object()) {
      if (value.is_string()) {
        f(std::string_view(key), std::string_view(value.get_string()));
      }
    }
  }
}

Found app_armor(const PodShown& pod, int /*minor*/) {
  const auto bad = [](std::string_view type) {
    return !type.empty() && type != "RuntimeDefault" && type != "Localhost";
  };
  Words types;
  const std::string_view of_pod = spec_text(pod, "securityContext.appArmorProfile.type");
  std::vector<std::string> setters;
  if (bad(of_pod)) {
    types.emplace(of_pod);
    setters.emplace_back("pod");
  }
  Names containers;
  each_container(pod, [&](const json::value& container) {
    const auto type = api::string_at(container, "securityContext.appArmorProfile.type");
    if (bad(type)) {
      types.emplace(type);
      containers.push_back(container_name(container));
    }
  });
  if (!containers.empty()) {
    setters.push_back(containers_text(containers));
  }
  Words annotations;
  each_annotation(pod, [&](std::string_view key, std::string_view value) {
    if (key.starts_with("container.apparmor.security.beta.kubernetes.io/") && !value.empty() &&
        value != "runtime/default" && !value.starts_with("localhost/")) {
      annotations.insert(fmt::format("{}={}", key, quote(value)));
    }
  });
  if (!annotations.empty()) {
    setters.emplace_back(plural("annotation", "annotations", annotations.size()));
  }
  if (setters.empty()) {
    return std::nullopt;
  }
  Names values(types.begin(), types.end());
  values.insert(values.end(), annotations.begin(), annotations.end());
  return Violation{.reason = std::string(plural("forbidden AppArmor profile",
                                                "forbidden AppArmor profiles", values.size())),
                   .detail = fmt::format("{} must not set AppArmor profile type to {}",
                                         fmt::join(setters, " and "), quoted(values))};
}

Found capabilities(const PodShown& pod, int /*minor*/) {
  static constexpr std::array<std::string_view, 13> kDefault = {
      "AUDIT_WRITE",      "CHOWN",   "DAC_OVERRIDE", "FOWNER",  "FSETID", "KILL",      "MKNOD",
      "NET_BIND_SERVICE", "SETFCAP", "SETGID",       "SETPCAP", "SETUID", "SYS_CHROOT"};
  Names containers;
  Words added;
  each_container(pod, [&](const json::value& container) {
    bool bad = false;
    each_of(container, "securityContext.capabilities.add", [&](const json::value& one) {
      if (one.is_string() &&
          std::ranges::find(kDefault, std::string_view(one.get_string())) == kDefault.end()) {
        bad = true;
        added.emplace(one.get_string());
      }
    });
    if (bad) {
      containers.push_back(container_name(container));
    }
  });
  if (containers.empty()) {
    return std::nullopt;
  }
  return Violation{.reason = "non-default capabilities",
                   .detail =
                       fmt::format("{} must not include {} in securityContext.capabilities.add",
                                   containers_text(containers), quoted(added))};
}

Found host_namespaces(const PodShown& pod, int /*minor*/) {
  Names used;
  for (const char* name : {"hostNetwork", "hostPID", "hostIPC"}) {
    if (spec_is_true(pod, name)) {
      used.push_back(fmt::format("{}=true", name));
    }
  }
  if (used.empty()) {
    return std::nullopt;
  }
  return Violation{.reason = "host namespaces", .detail = fmt::format("{}", fmt::join(used, ", "))};
}

Found host_paths(const PodShown& pod, int /*minor*/) {
  Names volumes;
  if (pod.spec != nullptr) {
    each_of(*pod.spec, "volumes", [&](const json::value& volume) {
      if (const json::value* path = api::find(volume, "hostPath");
          path != nullptr && !path->is_null()) {
        volumes.emplace_back(api::string_at(volume, "name"));
      }
    });
  }
  if (volumes.empty()) {
    return std::nullopt;
  }
  return Violation{
      .reason = "hostPath volumes",
      .detail = fmt::format("{} {}", plural("volume", "volumes", volumes.size()), quoted(volumes))};
}

Found host_ports(const PodShown& pod, int /*minor*/) {
  Names containers;
  Words ports;
  each_container(pod, [&](const json::value& container) {
    bool bad = false;
    each_of(container, "ports", [&](const json::value& port) {
      const json::value* number = api::find(port, "hostPort");
      if (number != nullptr && number->is_int64() && number->get_int64() != 0) {
        bad = true;
        ports.insert(fmt::to_string(number->get_int64()));
      }
    });
    if (bad) {
      containers.push_back(container_name(container));
    }
  });
  if (containers.empty()) {
    return std::nullopt;
  }
  return Violation{.reason = "hostPort",
                   .detail = fmt::format("{} {} {} {}", containers_text(containers),
                                         plural("uses", "use", containers.size()),
                                         plural("hostPort", "hostPorts", ports.size()),
                                         fmt::join(ports, ", "))};
}

Found probe_hosts(const PodShown& pod, int /*minor*/) {
  static constexpr std::array<std::string_view, 5> kHandlers = {
      "livenessProbe", "readinessProbe", "startupProbe", "lifecycle.postStart",
      "lifecycle.preStop"};
  Words containers;
  Words hosts;
  each_container(pod, [&](const json::value& container) {
    for (const std::string_view handler : kHandlers) {
      for (const std::string_view way : {"httpGet", "tcpSocket"}) {
        const auto host = api::string_at(container, fmt::format("{}.{}.host", handler, way));
        if (!host.empty()) {
          containers.insert(container_name(container));
          hosts.emplace(host);
        }
      }
    }
  });
  if (containers.empty()) {
    return std::nullopt;
  }
  return Violation{.reason = "probe or lifecycle host",
                   .detail = fmt::format(
                       "{} {} {} {}", containers_text({containers.begin(), containers.end()}),
                       plural("uses", "use", containers.size()),
                       plural("probe or lifecycle host", "probe or lifecycle hosts", hosts.size()),
                       quoted(hosts))};
}

Found privileged(const PodShown& pod, int /*minor*/) {
  Names containers;
  each_container(pod, [&](const json::value& container) {
    if (is_true(api::find_path(container, "securityContext.privileged"))) {
      containers.push_back(container_name(container));
    }
  });
  if (containers.empty()) {
    return std::nullopt;
  }
  return Violation{.reason = "privileged",
                   .detail = containers_text(containers) +
                             " must not set securityContext.privileged=true"};
}

Found proc_mount(const PodShown& pod, int /*minor*/) {
  Names containers;
  Words types;
  each_container(pod, [&](const json::value& container) {
    const auto type = api::string_at(container, "securityContext.procMount");
    if (!type.empty() && type != "Default") {
      containers.push_back(container_name(container));
      types.emplace(type);
    }
  });
  if (containers.empty()) {
    return std::nullopt;
  }
  return Violation{.reason = "procMount",
                   .detail = fmt::format("{} must not set securityContext.procMount to {}",
                                         containers_text(containers), quoted(types))};
}

/// What securityContexts say of SELinux that they must not.
class SeLinux {
 public:
  explicit SeLinux(int minor) : minor_(minor) {}

  bool is_bad(const json::value& of) {
    constexpr int kEngine = 31; // the version that allows it
    const json::value* options = api::find_path(of, "securityContext.seLinuxOptions");
    if (options == nullptr) {
      return false;
    }
    const auto type = api::string_at(*options, "type");
    const bool allowed = type.empty() || type == "container_t" || type == "container_init_t" ||
                         type == "container_kvm_t" ||
                         (minor_ >= kEngine && type == "container_engine_t");
    if (!allowed) {
      types_.emplace(type);
    }
    const bool user = !api::string_at(*options, "user").empty();
    const bool role = !api::string_at(*options, "role").empty();
    user_ = user_ || user;
    role_ = role_ || role;
    return !allowed || user || role;
  }

  std::string text() const {
    Names out;
    if (!types_.empty()) {
      out.push_back(fmt::format("{} {}", plural("type", "types", types_.size()), quoted(types_)));
    }
    if (user_) {
      out.emplace_back("user may not be set");
    }
    if (role_) {
      out.emplace_back("role may not be set");
    }
    return fmt::format("{}", fmt::join(out, "; "));
  }

 private:
  int minor_;
  Words types_;
  bool user_ = false;
  bool role_ = false;
};

Found se_linux(const PodShown& pod, int minor) {
  SeLinux options(minor);
  const bool of_pod = pod.spec != nullptr && options.is_bad(*pod.spec);
  Names containers;
  each_container(pod, [&](const json::value& container) {
    if (options.is_bad(container)) {
      containers.push_back(container_name(container));
    }
  });
  if (!of_pod && containers.empty()) {
    return std::nullopt;
  }
  return Violation{.reason = "seLinuxOptions",
                   .detail = fmt::format("{} set forbidden securityContext.seLinuxOptions: {}",
                                         setters_text(of_pod, containers), options.text())};
}

/// Before profiles were fields.
Found seccomp_annotations(const PodShown& pod) {
  constexpr std::string_view kPod = "seccomp.security.alpha.kubernetes.io/pod";
  constexpr std::string_view kContainer = "container.seccomp.security.alpha.kubernetes.io/";
  Words containers;
  each_container(
      pod, [&](const json::value& container) { containers.insert(container_name(container)); });
  Words bad;
  each_annotation(pod, [&](std::string_view key, std::string_view value) {
    const bool about = key == kPod || (key.starts_with(kContainer) &&
                                       containers.contains(key.substr(kContainer.size())));
    if (about && value != "runtime/default" && value != "docker/default" &&
        !value.starts_with("localhost/")) {
      bad.insert(fmt::format("{}={}", key, quote(value)));
    }
  });
  if (bad.empty()) {
    return std::nullopt;
  }
  return Violation{.reason = "seccompProfile",
                   .detail = fmt::format("forbidden {} {}",
                                         plural("annotation", "annotations", bad.size()),
                                         fmt::join(bad, ", "))};
}

Found seccomp(const PodShown& pod, int minor) {
  constexpr int kFields = 19; // the version whose pods have them as fields
  if (minor < kFields) {
    return seccomp_annotations(pod);
  }
  Words types;
  const auto is_bad = [&](const json::value& of) {
    const json::value* profile = api::find_path(of, "securityContext.seccompProfile");
    const auto type = profile == nullptr ? std::string_view() : api::string_at(*profile, "type");
    if (profile == nullptr || profile->is_null() || is_safe_seccomp(type)) {
      return false;
    }
    types.emplace(type);
    return true;
  };
  const bool of_pod = pod.spec != nullptr && is_bad(*pod.spec);
  Names containers;
  each_container(pod, [&](const json::value& container) {
    if (is_bad(container)) {
      containers.push_back(container_name(container));
    }
  });
  if (types.empty()) {
    return std::nullopt;
  }
  return Violation{.reason = "seccompProfile",
                   .detail =
                       fmt::format("{} must not set securityContext.seccompProfile.type to {}",
                                   setters_text(of_pod, containers), quoted(types))};
}

Found sysctls(const PodShown& pod, int minor) {
  struct Safe {
    std::string_view name;
    int since;
  };
  static constexpr std::array<Safe, 12> kSafe = {
      {{.name = "kernel.shm_rmid_forced", .since = 0},
       {.name = "net.ipv4.ip_local_port_range", .since = 0},
       {.name = "net.ipv4.tcp_syncookies", .since = 0},
       {.name = "net.ipv4.ping_group_range", .since = 0},
       {.name = "net.ipv4.ip_unprivileged_port_start", .since = 0},
       {.name = "net.ipv4.ip_local_reserved_ports", .since = 27},
       {.name = "net.ipv4.tcp_keepalive_time", .since = 29},
       {.name = "net.ipv4.tcp_fin_timeout", .since = 29},
       {.name = "net.ipv4.tcp_keepalive_intvl", .since = 29},
       {.name = "net.ipv4.tcp_keepalive_probes", .since = 29},
       {.name = "net.ipv4.tcp_rmem", .since = 32},
       {.name = "net.ipv4.tcp_wmem", .since = 32}}};
  Names bad;
  if (pod.spec != nullptr) {
    each_of(*pod.spec, "securityContext.sysctls", [&](const json::value& sysctl) {
      const auto name = api::string_at(sysctl, "name");
      if (std::ranges::none_of(
              kSafe, [&](const Safe& one) { return one.name == name && one.since <= minor; })) {
        bad.emplace_back(name);
      }
    });
  }
  if (bad.empty()) {
    return std::nullopt;
  }
  return Violation{.reason = "forbidden sysctls",
                   .detail = fmt::format("{}", fmt::join(bad, ", "))};
}

Found host_process(const PodShown& pod, int /*minor*/) {
  constexpr std::string_view kPath = "securityContext.windowsOptions.hostProcess";
  const bool of_pod = spec_is_true(pod, kPath);
  Names containers;
  each_container(pod, [&](const json::value& container) {
    if (is_true(api::find_path(container, kPath))) {
      containers.push_back(container_name(container));
    }
  });
  if (!of_pod && containers.empty()) {
    return std::nullopt;
  }
  return Violation{.reason = "hostProcess",
                   .detail = setters_text(of_pod, containers) +
                             " must not set securityContext.windowsOptions.hostProcess=true"};
}

} // namespace

std::vector<StandardCheck> baseline_checks() {
  return {{.run = app_armor, .since = 0},       {.run = capabilities, .since = 0, .overridden = 22},
          {.run = host_namespaces, .since = 0}, {.run = host_paths, .since = 0, .overridden = 0},
          {.run = host_ports, .since = 0},      {.run = probe_hosts, .since = 34},
          {.run = privileged, .since = 0},      {.run = proc_mount, .since = 0},
          {.run = se_linux, .since = 0},        {.run = seccomp, .since = 0, .overridden = 19},
          {.run = sysctls, .since = 0},         {.run = host_process, .since = 0}};
}

} // namespace berth::store
