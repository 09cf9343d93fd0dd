#include "berth/node/real_machine.h"

#include <filesystem>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "berth/base/log.h"
#include "berth/cdi/registry.h"
#include "berth/deviceplugin/gpu_plugin.h"
#include "berth/deviceplugin/wire/kubelet_directory.h"
#include "berth/deviceplugin/wire/plugins_registry.h"
#include "berth/net/asio_loop.h"
#include "berth/node/checkpoint_store.h"
#include "berth/node/machine_facts.h"
#include "berth/node/wire/pod_resources_server.h"

namespace berth::node {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLog = "agent";
constexpr Duration kAskAgain = Duration::seconds(2);

Result<void> make_private(const fs::path& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (!error) {
    fs::permissions(directory, fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec,
                    error);
  }
  if (error) {
    return fail(Code::Forbidden,
                fmt::format("{}: cannot be made: {}; run as root, or choose another directory",
                            directory.string(), error.message()));
  }
  return {};
}

} // namespace

struct RealMachine::State : std::enable_shared_from_this<State> {
  State(net::AsioLoop& its_loop, client::Client& its_client, RealMachineOptions its_options)
      : loop(&its_loop), client(&its_client), options(std::move(its_options)),
        socket(its_loop, {.directory = deviceplugin::device_plugins_directory(options.root)}),
        ask_again(its_loop) {}
  ~State() {
    pod_resources.reset();
    plugins_registry.reset();
    agent.reset();
    plugin.reset();
  }

  void ask_runtime();
  void say(const std::string& line);
  void become_node(const runtime::cri::RuntimeInfo& info);
  void serve_neighbours();

  net::AsioLoop* loop;
  client::Client* client;
  RealMachineOptions options;
  std::function<void(const std::string&)> on_step;
  std::string last_line;
  MachineFacts facts;
  std::optional<runtime::cri::CriRuntime> runtime;
  deviceplugin::KubeletDirectory socket;
  cdi::Registry cdi;
  std::optional<FileCheckpointStore> checkpoint;
  Timer ask_again;
  std::unique_ptr<deviceplugin::GpuPlugin> plugin;
  std::unique_ptr<Agent> agent;
  std::unique_ptr<deviceplugin::PluginsRegistry> plugins_registry;
  std::unique_ptr<PodResourcesServer> pod_resources;
};

void RealMachine::State::say(const std::string& line) {
  if (line != last_line) {
    last_line = line;
    on_step(line);
  }
}

void RealMachine::State::ask_runtime() {
  runtime->probe([this](const Result<runtime::cri::RuntimeInfo>& info) {
    if (!info || !info->ready) {
      say(fmt::format("waiting for the container runtime at {}: {}", options.cri.endpoint,
                      info ? info->problem : info.error().message));
      ask_again.set(kAskAgain, [this] { ask_runtime(); });
      return;
    }
    become_node(*info);
  });
}

void RealMachine::State::become_node(const runtime::cri::RuntimeInfo& info) {
  const std::string runtime_name = fmt::format("{}://{}", info.name, info.version);
  if (options.gpus && !options.gpus->gpus().empty()) {
    plugin = std::make_unique<deviceplugin::GpuPlugin>(*loop, *options.gpus, cdi, socket,
                                                       deviceplugin::GpuPluginOptions());
  }
  agent = std::make_unique<Agent>(
      AgentPlace{.loop = loop,
                 .client = client,
                 .runtime = &*runtime,
                 .socket = &socket,
                 .checkpoint = &*checkpoint,
                 .inventory = options.gpus.get()},
      AgentOptions{.node_document = machine_node(facts, {.name = options.name,
                                                         .address = options.address,
                                                         .container_runtime = runtime_name,
                                                         .max_pods = options.max_pods}),
                   .labels = options.labels,
                   .taints = options.taints,
                   .seed = static_cast<std::uint64_t>(loop->now().unix_nanos())});
  serve_neighbours();
  say(fmt::format("node {} runs containers with {} {}{}", options.name, info.name, info.version,
                  info.network_ready ? ""
                                     : "; no network for pods is configured: they share the "
                                       "machine's"));
}

// Who else works with a kubelet on its machine. The node goes without them if it must.
void RealMachine::State::serve_neighbours() {
  auto registry = deviceplugin::PluginsRegistry::open(
      *loop, {.directory = deviceplugin::plugins_registry_directory(options.root)},
      agent->plugin_registration());
  if (registry) {
    plugins_registry = *std::move(registry);
  } else {
    log(LogLevel::Error, kLog, to_string(registry.error()));
  }
  auto server = PodResourcesServer::listen(*loop, deviceplugin::pod_resources_socket(options.root),
                                           [this] { return agent->pod_resources(); });
  if (server) {
    pod_resources = *std::move(server);
  } else {
    log(LogLevel::Error, kLog, to_string(server.error()));
  }
}

RealMachine::RealMachine(net::AsioLoop& loop, client::Client& client, RealMachineOptions options)
    : state_(std::make_shared<State>(loop, client, std::move(options))) {}

RealMachine::~RealMachine() = default;

Result<void> RealMachine::start(std::function<void(const std::string&)> on_step) {
  State& state = *state_;
  state.on_step = std::move(on_step);
  const fs::path root = state.options.root;
  BERTH_CHECK(make_private(root));
  BERTH_CHECK(make_private(root / "device-plugins"));
  BERTH_TRY(state.facts, read_machine_facts(root.string()));
  if (state.options.name.empty()) {
    state.options.name = state.facts.hostname;
  }
  if (state.options.address.empty()) {
    state.options.address = state.facts.address;
  }
  state.options.cri.owner = state.options.name;
  state.checkpoint.emplace((root / "device-plugins" / "berth_internal_checkpoint").string());
  state.runtime.emplace(*state.loop, state.options.cri);
  state.ask_runtime();
  return {};
}

const std::string& RealMachine::name() const {
  return state_->options.name;
}

const Agent* RealMachine::agent() const {
  return state_->agent.get();
}

runtime::cri::CriRuntime& RealMachine::runtime() {
  return *state_->runtime;
}

} // namespace berth::node
