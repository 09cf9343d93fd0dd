// berth agent: this machine as a node of a Kubernetes cluster, in the kubelet's place.
#include "berth/cli/agent/agent_flags.h"
#include "berth/cli/agent/agent_process.h"
#include "berth/cli/cluster_access.h"
#include "berth/cli/commands/commands.h"
#include "berth/cli/run/interrupt.h"

namespace berth::cli {
namespace {

constexpr std::string_view kListen = "127.0.0.1:10250"; // the kubelet's port

Result<AgentProcessOptions> process_options(const Values& values) {
  AgentProcessOptions options;
  BERTH_TRY(options.access, cluster_access(values));
  BERTH_TRY(options.choice, machine_choice(values));
  BERTH_TRY(options.listen, parse_listen_address(values.get("--listen", kListen), "--listen"));
  if (options.choice.machine.address.empty() && options.listen.address == "127.0.0.1") {
    options.choice.machine.address = options.listen.address; // where the API server finds it
  }
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

std::vector<Flag> flags() {
  std::vector<Flag> all = cluster_access_flags();
  all.push_back(
      {.name = "--listen",
       .value = "ADDRESS:PORT",
       .help = "where the API server reads logs and runs commands, showing a certificate of the "
               "cluster's authority; on loopback the Node's InternalIP is that, unless --node-ip "
               "says otherwise",
       .group = "CLUSTER",
       .fallback = kListen});
  for (Flag& flag : machine_flags()) {
    all.push_back(std::move(flag));
  }
  return all;
}

} // namespace

Command agent_command_table() {
  return {
      .name = "agent",
      .summary = "run this machine's pods as a node of a Kubernetes cluster",
      .synopsis = {"[--kubeconfig FILE] [--api URL] [--container-runtime-endpoint SOCKET] [FLAGS]"},
      .description =
          {"Registers this machine as a Node of the cluster that a kubeconfig names and runs the "
           "pods bound to it with a container runtime (containerd or CRI-O, through the Container "
           "Runtime Interface), in the kubelet's place. Its GPUs are those of the NVIDIA driver, "
           "given out by Berth's device plugin within the process; --platform simulates them.",
           "An interrupt or SIGTERM ends it. Containers go on: the next agent of the same name "
           "finds them and leaves them their devices. Pods of other agents, or of a kubelet, on "
           "the same runtime are not touched.",
           "Where no network for pods is configured (CNI), pods share the machine's network, "
           "unless "
           "--network-without-cni says otherwise."},
      .flags = flags(),
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
