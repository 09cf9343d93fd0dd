#include "berth/node/pod_refusal.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

#include "berth/node/contents/spec_field.h"

namespace berth::node {
namespace {

namespace json = api::json;

// pkg/kubelet/sysctl/safe_sysctls.go
constexpr std::array<std::string_view, 12> kSafe{"kernel.shm_rmid_forced",
                                                 "net.ipv4.ip_local_port_range",
                                                 "net.ipv4.tcp_syncookies",
                                                 "net.ipv4.ping_group_range",
                                                 "net.ipv4.ip_unprivileged_port_start",
                                                 "net.ipv4.ip_local_reserved_ports",
                                                 "net.ipv4.tcp_keepalive_time",
                                                 "net.ipv4.tcp_fin_timeout",
                                                 "net.ipv4.tcp_keepalive_intvl",
                                                 "net.ipv4.tcp_keepalive_probes",
                                                 "net.ipv4.tcp_rmem",
                                                 "net.ipv4.tcp_wmem"};
constexpr std::string_view kForbidden = "SysctlForbidden";

bool matches(std::string_view name, std::string_view pattern) {
  return pattern.ends_with('*') ? name.starts_with(pattern.substr(0, pattern.size() - 1))
                                : name == pattern;
}

struct Port {
  std::string_view protocol;
  std::string_view address;
  std::int64_t number = 0;

  bool meets(const Port& other) const {
    const auto all = [](std::string_view one) { return one.empty() || one == "0.0.0.0"; };
    return number == other.number && protocol == other.protocol &&
           (address == other.address || all(address) || all(other.address));
  }
};

std::vector<Port> ports_of(const json::value& pod) {
  std::vector<Port> ports;
  for (const char* list : {"spec.containers", "spec.initContainers"}) {
    for (const json::value& container : list_at(pod, list)) {
      const bool sidecar = api::string_at(container, "restartPolicy") == "Always";
      if (std::string_view(list) == "spec.initContainers" && !sidecar) {
        continue; // over before others begin
      }
      for (const json::value& port : list_at(container, "ports")) {
        const auto number = int_at(port, "hostPort").value_or(0);
        const std::string_view protocol = api::string_at(port, "protocol");
        if (number > 0) {
          ports.push_back({.protocol = protocol.empty() ? "TCP" : protocol,
                           .address = api::string_at(port, "hostIP"),
                           .number = number});
        }
      }
    }
  }
  return ports;
}

} // namespace

std::optional<Reason> sysctl_refusal(const json::value& pod,
                                     const std::vector<std::string>& allowed_unsafe) {
  const bool host_network = bool_at(pod, "spec.hostNetwork").value_or(false);
  const bool host_ipc = bool_at(pod, "spec.hostIPC").value_or(false);
  for (const json::value& sysctl : list_at(pod, "spec.securityContext.sysctls")) {
    std::string name(api::string_at(sysctl, "name"));
    std::ranges::replace(name, '/', '.');
    const bool of_network = name.starts_with("net.");
    const bool of_ipc = name.starts_with("kernel.shm") || name.starts_with("kernel.msg") ||
                        name == "kernel.sem" || name.starts_with("fs.mqueue.");
    if ((of_network && host_network) || (of_ipc && host_ipc)) {
      return Reason{std::string(kForbidden),
                    fmt::format("forbidden sysctl: \"{}\" not allowed with host {} enabled", name,
                                of_network ? "net" : "ipc")};
    }
    const bool safe = std::ranges::find(kSafe, name) != kSafe.end();
    const bool allowed = (of_network || of_ipc) &&
                         std::ranges::any_of(allowed_unsafe, [&](const std::string& pattern) {
                           return matches(name, pattern);
                         });
    if (!safe && !allowed) {
      return Reason{std::string(kForbidden),
                    fmt::format("forbidden sysctl: \"{}\" not allowlisted", name)};
    }
  }
  return std::nullopt;
}

std::optional<Reason> host_port_refusal(const json::value& pod,
                                        const std::vector<const json::value*>& others) {
  const std::vector<Port> wanted = ports_of(pod);
  if (wanted.empty()) {
    return std::nullopt;
  }
  for (const json::value* other : others) {
    for (const Port& taken : ports_of(*other)) {
      if (std::ranges::any_of(wanted, [&](const Port& port) { return port.meets(taken); })) {
        return Reason{"NodePorts", "Predicate NodePorts failed: node(s) didn't have free ports for "
                                   "the requested pod ports"};
      }
    }
  }
  return std::nullopt;
}

std::optional<Reason> place_refusal(const json::value& pod, const model::Pod& view,
                                    const api::Labels& node_labels, std::string_view node_name) {
  const std::string_view system = api::string_at(pod, "spec.os.name");
  if (!system.empty() && system != "linux") {
    return Reason{"PodOSNotSupported", "Failed to admit pod as the OS field doesn't match node OS"};
  }
  const auto& selector = view.spec.node_selector;
  constexpr std::string_view kOs = "kubernetes.io/os";
  const auto wanted = selector.find(std::string(kOs));
  const auto own = node_labels.find(kOs);
  if (wanted != selector.end() && own != node_labels.end() && wanted->second != own->second) {
    return Reason{"PodOSSelectorNodeLabelDoesNotMatch",
                  "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label"};
  }
  const bool selected = std::ranges::all_of(selector, [&](const auto& label) {
    const auto has = node_labels.find(label.first);
    return has != node_labels.end() && has->second == label.second;
  });
  const auto& affinity = view.spec.node_affinity;
  const bool liked =
      !affinity || !affinity->required || affinity->required->matches(node_labels, node_name);
  if (selected && liked) {
    return std::nullopt;
  }
  return Reason{"NodeAffinity", "Predicate NodeAffinity failed: node(s) didn't match Pod's node "
                                "affinity/selector"};
}

} // namespace berth::node
