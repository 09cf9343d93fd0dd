// berth agent: this machine as a node of a Kubernetes cluster, in the kubelet's place.
#include <charconv>

#include <fmt/format.h>

#include "berth/cli/agent/agent_process.h"
#include "berth/cli/commands/commands.h"
#include "berth/cli/platform_files.h"
#include "berth/cli/run/interrupt.h"

namespace berth::cli {
namespace {

constexpr std::string_view kContainerd = "unix:///run/containerd/containerd.sock";
constexpr std::string_view kRoot = "/var/lib/kubelet";

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

Result<int> max_pods_of(const std::string& text) {
  int pods = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), pods);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || pods < 1) {
    return fail(Code::BadRequest,
                fmt::format("--max-pods: want a whole number from 1, got \"{}\"", text));
  }
  return pods;
}

Result<AgentProcessOptions> process_options(const Values& values) {
  AgentProcessOptions options;
  BERTH_TRY(options.access,
            client::load_access(values.get("--kubeconfig"), values.get("--context")));
  if (values.has("--platform")) {
    BERTH_TRY(options.platform, find_platform(values.get("--platform")));
  }
  node::RealMachineOptions& machine = options.machine;
  machine.name = values.get("--hostname-override");
  machine.address = values.get("--node-ip");
  machine.root = values.get("--root-dir", kRoot);
  machine.cri.endpoint = values.get("--container-runtime-endpoint", kContainerd);
  machine.cri.image_endpoint = values.get("--image-service-endpoint");
  BERTH_TRY(machine.max_pods, max_pods_of(values.get("--max-pods", "110")));
  BERTH_TRY(machine.labels, labels_of(values.get("--node-labels")));
  BERTH_TRY(machine.taints, taints_of(values.get("--register-with-taints")));
  return options;
}

int run_it(const Invocation& invocation) {
  Terminal& terminal = invocation.terminal;
  const auto options = process_options(invocation.values);
  if (!options) {
    terminal.error(to_string(options.error()));
    return options.error().code == Code::BadRequest ? kUsage : kFailed;
  }
  const InterruptWatch interrupts;
  const auto end = run_agent(*options, &InterruptWatch::interrupted,
                             [&](const std::string& line) { terminal.note(line); });
  if (!end) {
    terminal.error(to_string(end.error()));
    return kFailed;
  }
  return kDone;
}

} // namespace

Command agent_command_table() {
  return {
      .name = "agent",
      .summary = "run this machine's pods as a node of a Kubernetes cluster",
      .synopsis = {"[--kubeconfig FILE] [--container-runtime-endpoint SOCKET] [FLAGS]"},
      .description =
          {"Registers this machine as a Node of the cluster that a kubeconfig names and runs the "
           "pods bound to it with a container runtime (containerd or CRI-O, through the Container "
           "Runtime Interface), in the kubelet's place. Its GPUs are those of the NVIDIA driver, "
           "given out by Berth's device plugin within the process; --platform simulates them.",
           "An interrupt or SIGTERM ends it. Containers go on: the next agent of the same name "
           "finds them and leaves them their devices. Pods of other agents, or of a kubelet, on "
           "the same runtime are not touched.",
           "Where no network for pods is configured (CNI), pods share the machine's network."},
      .flags = {{.name = "--kubeconfig",
                 .value = "FILE",
                 .help = "how to reach the cluster; else $KUBECONFIG, ~/.kube/config, or the "
                         "service account of the pod that this runs in",
                 .group = "CLUSTER",
                 .offers = Offers::Files},
                {.name = "--context",
                 .value = "NAME",
                 .help = "a context of the kubeconfig file",
                 .group = "CLUSTER"},
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
                 .offers = Offers::Files}},
      .examples = {{"a node of the cluster that berth up runs",
                    "agent --kubeconfig ~/.berth/kubeconfig"},
                   {"with the GPUs of a machine that is not at hand",
                    "agent --kubeconfig ~/.berth/kubeconfig --platform dgx-h100"}},
      .exit_codes = {{kDone, "it was told to stop"},
                     {kFailed, "it could not begin"},
                     {kUsage, "wrong flags"}},
      .run = run_it};
}

} // namespace berth::cli
