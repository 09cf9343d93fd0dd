#include "berth/node/real_machine.h"

#include <filesystem>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "berth/base/background.h"
#include "berth/base/log.h"
#include "berth/cdi/spec_store.h"
#include "berth/deviceplugin/discovery_options.h"
#include "berth/deviceplugin/host_driver.h"
#include "berth/deviceplugin/mps/command_runner.h"
#include "berth/deviceplugin/plugin_set.h"
#include "berth/deviceplugin/wire/kubelet_directory.h"
#include "berth/deviceplugin/wire/plugins_registry.h"
#include "berth/hardware/platform.h"
#include "berth/inventory/discovery_labels.h"
#include "berth/net/asio_background.h"
#include "berth/net/asio_loop.h"
#include "berth/node/checkpoint_store.h"
#include "berth/node/contents/contents.h"
#include "berth/node/machine_numa.h"
#include "berth/node/probes/asio_network.h"
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

std::string network_words(const Result<runtime::cri::PodNetwork>& network) {
  if (!network) {
    return fmt::format("; pods without hostNetwork wait: {}", network.error().message);
  }
  constexpr std::string_view kNone = "; no network for pods is configured:";
  switch (*network) {
  case runtime::cri::PodNetwork::Configured:
    break;
  case runtime::cri::PodNetwork::Loopback:
    return fmt::format("{} each has a loopback of its own and nothing else", kNone);
  case runtime::cri::PodNetwork::Machine:
    return fmt::format("{} they share the machine's", kNone);
  case runtime::cri::PodNetwork::Nothing:
    return fmt::format("{} those without hostNetwork wait", kNone);
  }
  return "";
}

} // namespace

struct RealMachine::State : std::enable_shared_from_this<State> {
  State(net::AsioLoop& its_loop, client::Client& its_client, RealMachineOptions its_options)
      : loop(&its_loop), client(&its_client), options(std::move(its_options)),
        socket(its_loop, {.directory = deviceplugin::device_plugins_directory(options.root)}),
        specs(options.cdi_directory), files(net::make_background(its_loop)),
        programs(net::make_background(its_loop)), commands(*programs), network(its_loop),
        ask_again(its_loop) {}
  ~State() {
    pod_resources.reset();
    plugins_registry.reset();
    agent.reset();
    plugins.reset();
  }

  void ask_runtime();
  void say(const std::string& line);
  void become_node(const runtime::cri::RuntimeInfo& info,
                   const Result<runtime::cri::PodNetwork>& pods_get);
  void start_plugins();
  api::Labels labels() const;
  void serve_neighbours();
  Result<void> read_numa();

  net::AsioLoop* loop;
  client::Client* client;
  RealMachineOptions options;
  std::function<void(const std::string&)> on_step;
  std::string last_line;
  MachineFacts facts;
  topology::Rules numa;
  std::uint16_t pods_port = 0; ///< 0: nobody serves them
  std::optional<runtime::cri::CriRuntime> runtime;
  deviceplugin::KubeletDirectory socket;
  cdi::DirectoryStore specs;
  std::unique_ptr<Background> files;    ///< volumes and logs
  std::unique_ptr<Background> programs; ///< of the driver
  deviceplugin::ProcessRunner commands;
  AsioProbeNetwork network;
  std::optional<FileCheckpointStore> checkpoint;
  std::optional<Contents> contents;
  Timer ask_again;
  std::unique_ptr<deviceplugin::PluginSet> plugins;
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
    runtime->settle_network(
        [this, about = *info](const Result<runtime::cri::PodNetwork>& pods_get) {
          become_node(about, pods_get);
        });
  });
}

void RealMachine::State::start_plugins() {
  const bool own = options.plugin == RealMachineOptions::Plugin::Own;
  if (!own || !options.gpus || options.gpus->gpus().empty()) {
    return;
  }
  const deviceplugin::Flags& flags = options.plugin_config.flags;
  auto nodes = deviceplugin::host_driver_nodes(
      {.root = flags.nvidia_dev_root.empty() ? flags.nvidia_driver_root : flags.nvidia_dev_root,
       .imex = options.plugin_config.imex,
       .driver_version = options.gpus->survey().driver});
  if (!nodes) {
    say(fmt::format("the GPUs are not offered: {}", nodes.error().message));
    return;
  }
  plugins = std::make_unique<deviceplugin::PluginSet>(
      deviceplugin::PluginPlace{.loop = loop,
                                .inventory = options.gpus.get(),
                                .specs = &specs,
                                .socket = &socket,
                                .commands = &commands},
      deviceplugin::PluginOptions{.config = options.plugin_config, .nodes = *std::move(nodes)});
}

// What GPU feature discovery would say of the node, so that schedulers know what to choose among;
// labels that were given win.
api::Labels RealMachine::State::labels() const {
  api::Labels all = options.labels;
  if (!options.gpus || options.gpus->gpus().empty()) {
    return all;
  }
  const deviceplugin::Config& config = options.plugin_config;
  auto found =
      inventory::discovery_labels(options.gpus->survey(), deviceplugin::discovery_options(config));
  if (!found) {
    log(LogLevel::Warn, kLog, to_string(found.error()));
    return all;
  }
  all.merge(*found);
  const hardware::Platform* platform = options.gpus->platform();
  if (platform && hardware::Catalogue::builtin().find(platform->name)) {
    all.emplace(model::kPlatformLabel, platform->name);
  }
  return all;
}

void RealMachine::State::become_node(const runtime::cri::RuntimeInfo& info,
                                     const Result<runtime::cri::PodNetwork>& pods_get) {
  const std::string runtime_name = fmt::format("{}://{}", info.name, info.version);
  start_plugins();
  contents.emplace(ContentsPlace{.loop = loop,
                                 .client = client,
                                 .runtime = &*runtime,
                                 .background = files.get(),
                                 .tokens = options.tokens,
                                 .network = &network},
                   ContentsOptions{.kubelet_root = options.root,
                                   .log_root = options.pod_logs,
                                   .owner = options.name,
                                   .dns = options.dns});
  agent = std::make_unique<Agent>(
      AgentPlace{.loop = loop,
                 .client = client,
                 .runtime = &*runtime,
                 .socket = &socket,
                 .checkpoint = &*checkpoint,
                 .inventory = options.gpus.get(),
                 .contents = &*contents},
      AgentOptions{.node_document = machine_node(facts, {.name = options.name,
                                                         .address = options.address,
                                                         .container_runtime = runtime_name,
                                                         .kubelet_port = pods_port,
                                                         .max_pods = options.max_pods,
                                                         .reserve = options.reserve}),
                   .labels = labels(),
                   .discover = [this] { return labels(); },
                   .given_labels = options.labels,
                   .taints = options.taints,
                   .replica_limit = deviceplugin::replica_limit(options.plugin_config.sharing),
                   .startup_taint = options.startup_taint,
                   .device_wait = options.device_wait,
                   .patience = options.patience,
                   .hami = options.hami,
                   .numa = numa,
                   .unsafe_sysctls = options.unsafe_sysctls,
                   .seed = static_cast<std::uint64_t>(loop->now().unix_nanos())});
  serve_neighbours();
  say(fmt::format("node {} runs containers with {} {}{}", options.name, info.name, info.version,
                  network_words(pods_get)));
}

// A machine whose NUMA nodes cannot be made out is a node like any other, unless its owner counts
// on them.
Result<void> RealMachine::State::read_numa() {
  NumaSource source{.sysfs = options.sysfs,
                    .usable = facts.usable_cpus,
                    .device_memory = {},
                    .memory = facts.memory_kib * 1024};
  if (const hardware::Platform* platform = options.gpus ? options.gpus->platform() : nullptr) {
    for (const hardware::Gpu& gpu : platform->gpus) {
      source.device_memory.insert(gpu.memory_numa);
    }
  }
  auto read = read_machine_numa(source);
  if (read) {
    facts.numa = *std::move(read);
  } else if (options.numa.active()) {
    return tl::unexpected(std::move(read).error());
  } else {
    log(LogLevel::Warn, kLog,
        fmt::format("NUMA nodes and huge pages are not known: {}", read.error().message));
  }
  if (options.numa.active()) {
    BERTH_TRY(numa, topology::make_rules(options.numa, facts.numa, kept_back(options.reserve)));
  }
  return {};
}

deviceplugin::Config real_plugin_config() {
  deviceplugin::Config config;
  config.flags.plugin.device_list_strategies.cdi_cri = true;
  return config;
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
  BERTH_CHECK(state.read_numa());
  if (state.options.name.empty()) {
    state.options.name = state.facts.hostname;
  }
  if (state.options.address.empty()) {
    state.options.address = state.facts.address;
  }
  state.options.cri.owner = state.options.name;
  state.options.cri.cdi_directories = {"/etc/cdi", state.options.cdi_directory};
  state.checkpoint.emplace((root / "device-plugins" / "berth_internal_checkpoint").string());
  state.runtime.emplace(*state.loop, state.options.cri);
  if (state.options.serve_pods) {
    BERTH_TRY(state.pods_port, state.options.serve_pods(*state.runtime));
  }
  state.ask_runtime();
  return {};
}

const std::string& RealMachine::name() const {
  return state_->options.name;
}

const Agent* RealMachine::agent() const {
  return state_->agent.get();
}

std::string RealMachine::metrics() const {
  return state_->agent ? state_->agent->counts().text(pod_resources_asked()) : "";
}

PodResourcesCounts RealMachine::pod_resources_asked() const {
  return state_->pod_resources ? state_->pod_resources->counts() : PodResourcesCounts();
}

runtime::cri::CriRuntime& RealMachine::runtime() {
  return *state_->runtime;
}

} // namespace berth::node
