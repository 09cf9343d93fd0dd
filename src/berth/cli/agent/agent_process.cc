#include "berth/cli/agent/agent_process.h"

#include <optional>

#include "berth/cli/agent/gpu_usage.h"
#include "berth/cli/agent/machine_gpus.h"
#include "berth/cli/agent/pod_server.h"
#include "berth/cli/up/process_metrics.h"
#include "berth/client/remote_client.h"
#include "berth/net/asio_loop.h"

namespace berth::cli {
namespace {

constexpr Duration kLook = Duration::millis(100);

} // namespace

Result<void> run_agent(const AgentProcessOptions& options, const std::function<bool()>& stop,
                       const std::function<void(const std::string&)>& say) {
  net::AsioLoop loop;
  BERTH_TRY(const auto client,
            client::RemoteClient::make(loop, options.access, {.user_agent = "berth-agent"}));
  node::RealMachineOptions with = options.choice.machine;
  BERTH_TRY(with.gpus, machine_gpus(loop, options.choice.platform.get(), with.name, say));
  with.tokens = client.get();
  std::unique_ptr<PodServer> pods;
  std::optional<node::RealMachine> machine;
  const auto gpus = with.gpus;
  with.serve_pods = [&, gpus,
                     disk = with.root](runtime::Runtime& runtime) -> Result<std::uint16_t> {
    BERTH_TRY(
        pods,
        PodServer::open(
            loop, runtime,
            {.listen = options.listen,
             .node = machine->name(),
             .client_ca = options.access.tls.ca,
             .disk = disk,
             .gpus = [gpus, &machine] { return machine_gpu_usage(gpus.get(), machine->agent()); },
             .gpu_driver = gpus ? gpus->survey().driver : "",
             .metrics = [&machine,
                         start =
                             loop.now()] { return process_metrics(start) + machine->metrics(); }}));
    return pods->port();
  };
  machine.emplace(loop, *client, std::move(with));
  BERTH_CHECK(machine->start(say));
  while (!stop()) {
    loop.run_for(kLook);
  }
  say("stopping; containers go on");
  pods.reset(); // before the runtime that it asks
  return {};
}

} // namespace berth::cli
