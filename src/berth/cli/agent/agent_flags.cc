#include "berth/cli/agent/agent_flags.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/cli/agent/numa_flags.h"
#include "berth/cli/platform_files.h"
#include "berth/cli/run/manifest_files.h"
#include "berth/deviceplugin/config/settings.h"
#include "berth/store/validation/formats.h"

namespace berth::cli {
namespace {

constexpr std::string_view kContainerd = "unix:///run/containerd/containerd.sock";
constexpr std::string_view kRoot = "/var/lib/kubelet";
constexpr std::string_view kPodLogs = "/var/log/pods";
constexpr std::string_view kCdi = "/var/run/cdi";
constexpr std::string_view kDeviceWait = "5m";

/// KEY=VALUE,KEY=VALUE.
Result<api::Labels> labels_of(std::string_view text) {
  api::Labels labels;
  while (!text.empty()) {
    const std::string_view each = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), each.size() + 1));
    const std::size_t equals = each.find('=');
    if (equals == 0 || equals == std::string_view::npos) {
      return fail(Code::BadRequest,
                  fmt::format("--node-labels: want KEY=VALUE[,KEY=VALUE...], got \"{}\"", each));
    }
    labels[std::string(each.substr(0, equals))] = std::string(each.substr(equals + 1));
  }
  return labels;
}

/// KEY[=VALUE]:EFFECT, comma between them.
Result<std::vector<model::Taint>> taints_of(std::string_view text) {
  std::vector<model::Taint> taints;
  while (!text.empty()) {
    const std::string_view each = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), each.size() + 1));
    const std::size_t colon = each.rfind(':');
    const std::string_view effect = colon == std::string_view::npos ? "" : each.substr(colon + 1);
    const std::string_view pair = each.substr(0, colon);
    const std::size_t equals = pair.find('=');
    if (pair.empty() || equals == 0 ||
        (effect != "NoSchedule" && effect != "PreferNoSchedule" && effect != "NoExecute")) {
      return fail(Code::BadRequest,
                  fmt::format("--register-with-taints: want KEY[=VALUE]:NoSchedule, "
                              "PreferNoSchedule or NoExecute, got \"{}\"",
                              each));
    }
    taints.push_back(
        {.key = std::string(pair.substr(0, equals)),
         .value = equals == std::string_view::npos ? "" : std::string(pair.substr(equals + 1)),
         .effect = std::string(effect)});
  }
  return taints;
}

/// What is between commas.
std::vector<std::string> parts_of(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    if (!part.empty()) {
      parts.emplace_back(part);
    }
  }
  return parts;
}

/// A socket's path, also as unix://PATH, or tcp://HOST:PORT; of another scheme a path would be
/// made.
Result<std::string> endpoint_of(const Values& values, std::string_view flag, std::string fallback) {
  if (!values.has(flag)) {
    return fallback;
  }
  std::string text = values.get(flag);
  constexpr std::string_view kSeparator = "://";
  const std::size_t at = text.find(kSeparator);
  const bool bare = at == std::string::npos;
  const std::string_view scheme = std::string_view(text).substr(0, bare ? 0 : at);
  const std::string_view rest =
      bare ? std::string_view(text) : std::string_view(text).substr(at + kSeparator.size());
  if (rest.empty() || (!bare && scheme != "unix" && scheme != "tcp")) {
    return fail(
        Code::BadRequest,
        fmt::format("{}: want unix:///PATH, a path, or tcp://HOST:PORT, got \"{}\"", flag, text));
  }
  return text;
}

/// A wrong server or file would be found out only when a pod resolves no name.
Result<void> read_dns(const Values& values, node::DnsSettings& dns) {
  dns.cluster_servers = parts_of(values.get("--cluster-dns"));
  for (const std::string& server : dns.cluster_servers) {
    if (!store::is_ip(server)) {
      return fail(Code::BadRequest,
                  fmt::format("--cluster-dns: want IP[,IP...], got \"{}\"", server));
    }
  }
  dns.cluster_domain = values.get("--cluster-domain", dns.cluster_domain);
  dns.resolv_conf = values.get("--resolv-conf", dns.resolv_conf);
  if (values.get("--resolv-conf").empty()) {
    return {}; // nobody named it, or "" says that there is none, as to a kubelet
  }
  if (const auto text = read_text(dns.resolv_conf); !text) {
    return fail(Code::BadRequest, fmt::format("--resolv-conf: {}", to_string(text.error())));
  }
  return {};
}

Result<int> max_pods_of(const std::string& text) {
  int pods = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), pods);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || pods < 1) {
    return fail(Code::BadRequest,
                fmt::format("--max-pods: want a whole number from 1, got \"{}\"", text));
  }
  return pods;
}

/// What the file says, and CDI names beside, by which the agent's runtimes go.
Result<deviceplugin::Config> plugin_config_of(const Values& values) {
  const std::string path = values.get("--device-plugin-config");
  if (path.empty()) {
    return node::real_plugin_config();
  }
  if (values.get("--device-plugin", "own") == "external") {
    return fail(Code::BadRequest, "--device-plugin-config is of --device-plugin own alone: who "
                                  "gives the GPUs instead has a configuration of its own");
  }
  const auto text = read_text(path);
  auto config = text ? deviceplugin::make_config(
                           {.file_text = *text, .file_name = path, .environment = {}, .flags = {}})
                     : tl::unexpected(text.error());
  if (!config) {
    return fail(Code::BadRequest,
                fmt::format("--device-plugin-config: {}", to_string(config.error())));
  }
  config->flags.plugin.device_list_strategies.cdi_cri = true;
  return config;
}

/// How long pods are held for devices; 0: not at all, as a kubelet has it.
Result<void> read_device_wait(const Values& values, node::RealMachineOptions& to) {
  const std::string text = values.get("--device-wait", kDeviceWait);
  const auto wait = parse_duration(text);
  if (!wait) {
    return fail(Code::BadRequest, fmt::format("--device-wait: {}", wait.error().message));
  }
  if (*wait < Duration()) {
    return fail(Code::BadRequest,
                fmt::format("--device-wait: want none or more, got \"{}\"", text));
  }
  to.device_wait = *wait;
  to.patience = *wait > Duration() ? node::Patience::Wait : node::Patience::None;
  return {};
}

runtime::cri::CriOptions::WithoutNetwork without_network_of(std::string_view how) {
  using Without = runtime::cri::CriOptions::WithoutNetwork;
  return how == "none" ? Without::Refuse : how == "loopback" ? Without::Loopback : Without::Share;
}

/// Also of a program that has been replaced since it was started: what has its place now.
std::string own_program() {
  std::error_code unknown;
  std::string path = std::filesystem::read_symlink("/proc/self/exe", unknown).string();
  constexpr std::string_view kReplaced = " (deleted)";
  if (path.ends_with(kReplaced)) {
    path.resize(path.size() - kReplaced.size());
  }
  return path.empty() ? "berth" : path;
}

/// As a device plugin of HAMi's is told; none if GPUs are not to be given so.
Result<std::optional<node::HamiSettings>> hami_of(const Values& values) {
  static constexpr std::pair<std::string_view, std::string_view> kSettings[] = {
      {"--device-split-count", "deviceSplitCount"},
      {"--device-memory-scaling", "deviceMemoryScaling"},
      {"--device-cores-scaling", "deviceCoreScaling"}};
  const bool on = values.get("--gpu-sharing", "none") == "hami";
  api::json::object settings;
  for (const auto& [flag, setting] : kSettings) {
    if (!values.has(flag)) {
      continue;
    }
    if (!on) {
      return fail(Code::BadRequest, fmt::format("{} is of --gpu-sharing hami alone", flag));
    }
    const std::string text = values.get(flag);
    const auto number = api::parse_json(text);
    settings[setting] = number ? *number : api::json::value(text);
    if (auto read = node::read_hami_settings(settings); !read) {
      return fail(Code::BadRequest, fmt::format("{}: {}", flag, read.error().message));
    }
  }
  if (!on) {
    return std::nullopt;
  }
  return node::read_hami_settings(settings);
}

} // namespace

Result<MachineChoice> machine_choice(const Values& values) {
  MachineChoice choice;
  if (values.has("--platform")) {
    BERTH_TRY(choice.platform, find_platform(values.get("--platform")));
  }
  node::RealMachineOptions& machine = choice.machine;
  machine.name = values.get("--hostname-override");
  machine.address = values.get("--node-ip");
  machine.root = values.get("--root-dir", kRoot);
  machine.pod_logs = values.get("--pod-logs-dir", kPodLogs);
  machine.cdi_directory = values.get("--cdi-dir", kCdi);
  BERTH_TRY(machine.plugin_config, plugin_config_of(values));
  if (values.has("--nvidia-dev-root")) {
    machine.plugin_config.flags.nvidia_dev_root = values.get("--nvidia-dev-root");
  }
  BERTH_TRY(machine.hami, hami_of(values));
  if (machine.hami && machine.plugin_config.sharing.resources() != nullptr) {
    return fail(Code::BadRequest,
                "--gpu-sharing hami: the configuration of the device plugin makes "
                "replicas of the GPUs already; leave out its section sharing");
  }
  machine.plugin = values.get("--device-plugin", "own") == "external"
                       ? node::RealMachineOptions::Plugin::External
                       : node::RealMachineOptions::Plugin::Own;
  BERTH_CHECK(read_device_wait(values, machine));
  BERTH_TRY(machine.cri.endpoint,
            endpoint_of(values, "--container-runtime-endpoint", std::string(kContainerd)));
  BERTH_TRY(machine.cri.image_endpoint, endpoint_of(values, "--image-service-endpoint", ""));
  BERTH_TRY(machine.max_pods, max_pods_of(values.get("--max-pods", "110")));
  BERTH_TRY(machine.labels, labels_of(values.get("--node-labels")));
  BERTH_TRY(machine.taints, taints_of(values.get("--register-with-taints")));
  machine.startup_taint = values.get("--startup-taint", "true") == "false"
                              ? node::StartupTaint::None
                              : node::StartupTaint::UntilGpus;
  BERTH_CHECK(read_dns(values, machine.dns));
  machine.unsafe_sysctls = parts_of(values.get("--allowed-unsafe-sysctls"));
  machine.cri.without_network = without_network_of(values.get("--network-without-cni", "host"));
  machine.cri.cni = {.conf = values.get("--cni-conf-dir"), .bin = values.get("--cni-bin-dir")};
  machine.cri.program = own_program();
  BERTH_TRY(NumaChoice numa, numa_choice(values));
  machine.numa = std::move(numa.settings);
  machine.reserve = numa.reserve;
  return choice;
}

std::vector<Flag> machine_flags() {
  std::vector<Flag> flags = {
      {.name = "--hostname-override",
       .value = "NAME",
       .help = "the Node's name; else the host's",
       .group = "NODE"},
      {.name = "--node-ip",
       .value = "ADDRESS",
       .help = "the Node's InternalIP; else the first address that is not loopback",
       .group = "NODE"},
      {.name = "--node-labels",
       .value = "KEY=VALUE,...",
       .help = "labels that the Node gets beside its own",
       .group = "NODE"},
      {.name = "--register-with-taints",
       .value = "KEY=VALUE:EFFECT,...",
       .help = "taints that a new Node gets",
       .group = "NODE"},
      {.name = "--startup-taint",
       .value = "BOOL",
       .help = "false: a new Node of a machine with GPUs is not tainted "
               "nvidia.com/gpu=present:NoSchedule until a device plugin gives some",
       .group = "NODE",
       .fallback = "true",
       .choices = {"true", "false"},
       .offers = Offers::Choices},
      {.name = "--max-pods",
       .value = "N",
       .help = "how many pods the node takes",
       .group = "NODE",
       .fallback = "110"},
      {.name = "--platform",
       .value = "PLATFORM",
       .help = "GPUs of a simulated machine instead of the driver's: a name of berth "
               "hardware list, or a platform file",
       .group = "NODE",
       .offers = Offers::Platforms},
      {.name = "--container-runtime-endpoint",
       .value = "SOCKET",
       .help = "where the container runtime listens",
       .group = "RUNTIME",
       .fallback = kContainerd},
      {.name = "--image-service-endpoint",
       .value = "SOCKET",
       .help = "where its image service listens; else the same",
       .group = "RUNTIME"},
      {.name = "--root-dir",
       .value = "DIRECTORY",
       .help = "where volumes, checkpoints and sockets are kept",
       .group = "RUNTIME",
       .fallback = kRoot,
       .offers = Offers::Files},
      {.name = "--pod-logs-dir",
       .value = "DIRECTORY",
       .help = "where the output of containers is kept",
       .group = "RUNTIME",
       .fallback = kPodLogs,
       .offers = Offers::Files},
      {.name = "--network-without-cni",
       .value = "HOW",
       .help = "pods while the runtime has no network for them: host: they share the "
               "machine's; loopback: each has one of its own with nothing but a loopback; none: "
               "those that do not ask for the machine's wait, as with a kubelet (docs/agent.md)",
       .group = "NETWORK",
       .fallback = "host",
       .choices = {"host", "loopback", "none"},
       .offers = Offers::Choices},
      {.name = "--cni-conf-dir",
       .value = "DIRECTORY",
       .help = "where the runtime looks for CNI configurations, for loopback above; else where it "
               "says, or /etc/cni/net.d",
       .group = "NETWORK",
       .offers = Offers::Directories},
      {.name = "--cni-bin-dir",
       .value = "DIRECTORY",
       .help = "where it looks for CNI plugins; else where it says, or /opt/cni/bin",
       .group = "NETWORK",
       .offers = Offers::Directories},
      {.name = "--cluster-dns",
       .value = "IP,...",
       .help = "the cluster's DNS servers, for pods with dnsPolicy ClusterFirst; else the "
               "machine's",
       .group = "NETWORK"},
      {.name = "--cluster-domain",
       .value = "DOMAIN",
       .help = "the domain of the cluster's services",
       .group = "NETWORK",
       .fallback = "cluster.local"},
      {.name = "--resolv-conf",
       .value = "FILE",
       .help = "the machine's resolver configuration",
       .group = "NETWORK",
       .fallback = "/etc/resolv.conf",
       .offers = Offers::Files},
      {.name = "--allowed-unsafe-sysctls",
       .value = "PATTERN,...",
       .help = "sysctls that pods may set beside the safe ones, such as net.core.*",
       .group = "NETWORK"},
      {.name = "--device-plugin",
       .value = "WHO",
       .help = "own: this process gives the GPUs; external: whoever registers does, such as "
               "berth device-plugin",
       .group = "GPUS",
       .fallback = "own",
       .choices = {"own", "external"},
       .offers = Offers::Choices},
      {.name = "--device-plugin-config",
       .value = "FILE",
       .help = "how this process gives the GPUs, MIG and sharing: a configuration of NVIDIA's "
               "device plugin",
       .group = "GPUS",
       .offers = Offers::Files},
      {.name = "--device-wait",
       .value = "DURATION",
       .help = "how long a pod is held for a device plugin that is coming back, or for devices of "
               "pods that are ending; 0: it is rejected at once, as by a kubelet",
       .group = "GPUS",
       .fallback = kDeviceWait},
      {.name = "--gpu-sharing",
       .value = "HOW",
       .help = "hami: GPUs are given as HAMi's vGPUs, to pods that its scheduler or Berth's plugin "
               "Hami placed (docs/hami.md)",
       .group = "GPUS",
       .fallback = "none",
       .choices = {"none", "hami"},
       .offers = Offers::Choices},
      {.name = "--device-split-count",
       .value = "N",
       .help = "with hami: how many containers may share a GPU",
       .group = "GPUS",
       .fallback = "10"},
      {.name = "--device-memory-scaling",
       .value = "NUMBER",
       .help = "with hami: how much of a GPU's memory is given; above 1, more than it has",
       .group = "GPUS",
       .fallback = "1"},
      {.name = "--device-cores-scaling",
       .value = "NUMBER",
       .help = "with hami: how much of its cores",
       .group = "GPUS",
       .fallback = "1"},
      {.name = "--cdi-dir",
       .value = "DIRECTORY",
       .help = "where CDI specs are written and, for runtimes that know nothing of CDI, read",
       .group = "GPUS",
       .fallback = kCdi,
       .offers = Offers::Files},
      {.name = "--nvidia-dev-root",
       .value = "DIRECTORY",
       .help = "whose dev folder has the driver's device files; else the machine's own",
       .group = "GPUS",
       .offers = Offers::Files}};
  for (Flag& flag : numa_flags()) {
    flags.push_back(std::move(flag));
  }
  return flags;
}

} // namespace berth::cli
