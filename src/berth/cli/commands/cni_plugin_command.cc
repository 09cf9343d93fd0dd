// berth cni-plugin: what a container runtime calls for a pod with nothing but a loopback.
#include <iostream>
#include <iterator>

#include "berth/cli/commands/commands.h"
#include "berth/runtime/cni/loopback_device.h"

namespace berth::cli {
namespace {

int run_it(const Invocation& invocation) {
  const auto variable = [environment = process_environment()](const char* name) {
    return environment(name).value_or("");
  };
  const runtime::cni::PluginAnswer answer =
      runtime::cni::answer({.command = variable("CNI_COMMAND"),
                            .container_id = variable("CNI_CONTAINERID"),
                            .netns = variable("CNI_NETNS"),
                            .ifname = variable("CNI_IFNAME"),
                            .config = std::string(std::istreambuf_iterator<char>(std::cin), {})},
                           runtime::cni::kernel_loopback());
  *invocation.terminal.out.to << answer.out;
  return answer.exit_code;
}

} // namespace

Command cni_plugin_command_table() {
  return {
      .name = "cni-plugin",
      .summary = "bring a pod's loopback up, for a container runtime that calls this",
      .synopsis = {""},
      .description =
          {"A plugin of the Container Network Interface (0.1.0 to 1.1.0) for pods that have "
           "nothing "
           "but a loopback of their own. berth agent --network-without-cni loopback tells the "
           "container runtime to call it; people need not.",
           "CNI_COMMAND, CNI_CONTAINERID, CNI_NETNS and CNI_IFNAME say what is wanted, the "
           "network's configuration is read from standard input, and the result, or an error with "
           "a code, is written as JSON."},
      .exit_codes = {{kDone, "done"}, {kFailed, "the output says what went wrong"}},
      .of_programs = true,
      .run = &run_it};
}

} // namespace berth::cli
