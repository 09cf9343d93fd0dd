#include "berth/node/simulated_machine.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <boost/json/object.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/base/assert.h"
#include "berth/deviceplugin/discovery_options.h"
#include "berth/node/container_config.h"
#include "berth/node/devices_in_use.h"
#include "berth/node/node_status.h"
#include "berth/node/numa_entries.h"

namespace berth::node {
namespace {

api::json::value plain_document_of(const MachineOptions& options) {
  if (options.node_document) {
    return *options.node_document;
  }
  if (options.platform) {
    return hardware::node_document(*options.platform, options.name);
  }
  return api::json::object{{"apiVersion", "v1"},
                           {"kind", "Node"},
                           {"metadata", api::json::object{{"name", options.name}}}};
}

std::int64_t amount(const api::json::value& node, std::string_view list,
                    std::string_view resource) {
  constexpr std::string_view kCpu = "cpu";
  const model::ResourceList amounts = node_resources(node, list);
  const auto found = amounts.find(resource);
  return found == amounts.end() ? 0
         : resource == kCpu     ? found->second.milli_value()
                                : found->second.value();
}

// CPUs that are reserved by name are not promised to pods.
api::json::value document_of(const MachineOptions& options) {
  constexpr std::int64_t kMilli = 1000;
  api::json::value node = plain_document_of(options);
  if (options.numa.cpu_policy == topology::CpuPolicy::Static && options.numa.reserved_cpus) {
    const std::int64_t left =
        amount(node, "capacity", "cpu") - kMilli * options.numa.reserved_cpus->count();
    if (left < amount(node, "allocatable", "cpu") && left >= 0) {
      api::object_at(api::object_at(node.get_object(), "status"), "allocatable")["cpu"] =
          api::Quantity::from_milli(left).to_string();
    }
  }
  return node;
}

int gpu_count(const api::json::value& node) {
  const model::ResourceList capacity = node_resources(node, "capacity");
  const auto gpus = capacity.find(model::kGpuResource);
  constexpr std::int64_t kMost = 1024;
  return gpus == capacity.end()
             ? 0
             : static_cast<int>(std::clamp<std::int64_t>(gpus->second.value(), 0, kMost));
}

// CPUs that the container was given for itself.
topology::CpuSet own_cpus(const runtime::ContainerStatus& container) {
  const auto text = container.annotations.find(std::string(kCpusAnnotation));
  return text == container.annotations.end()
             ? topology::CpuSet()
             : topology::CpuSet::parse(text->second).value_or(topology::CpuSet());
}

std::optional<GpuParts> parts_of(const runtime::ContainerStatus& container) {
  const auto text = container.annotations.find(std::string(kGpuPartAnnotation));
  return text == container.annotations.end() ? std::nullopt : parse_parts(text->second);
}

inventory::SimulatedInventory make_inventory(Loop& loop, const MachineOptions& options) {
  if (options.platform) {
    return {loop, *options.platform, options.name};
  }
  return {loop, gpu_count(document_of(options)), options.name};
}

// What feature discovery would say of GPUs that are not given whole; labels that were given win.
api::Labels labels_of(const MachineOptions& options, const inventory::Inventory& gpus) {
  const deviceplugin::Config& config = options.plugin_config;
  const bool whole = config.flags.mig_strategy == inventory::MigStrategy::None &&
                     config.sharing.resources() == nullptr;
  api::Labels labels = options.labels;
  if (!whole && options.platform && !options.node_document) {
    labels.merge(inventory::discovery_labels(gpus.survey(), deviceplugin::discovery_options(config))
                     .value_or(api::Labels()));
  }
  return labels;
}

/// The same, while GPUs are cut in other ways.
Discover discover_of(const MachineOptions& options, const inventory::Inventory& gpus) {
  if (options.plugin_config.flags.mig_strategy == inventory::MigStrategy::None) {
    return {};
  }
  return [&options, &gpus] { return labels_of(options, gpus); };
}

} // namespace

Result<topology::Rules> numa_rules(const MachineOptions& options) {
  if (!options.numa.active()) {
    return topology::Rules();
  }
  const api::json::value node = plain_document_of(options);
  const auto kept_back = [&](std::string_view resource) {
    return std::max<std::int64_t>(
        amount(node, "capacity", resource) - amount(node, "allocatable", resource), 0);
  };
  return topology::make_rules(options.numa,
                              options.platform ? topology::machine_of(*options.platform)
                                               : topology::Machine(),
                              {.milli_cpu = kept_back("cpu"), .memory = kept_back("memory")});
}

deviceplugin::Config usual_plugin_config() {
  deviceplugin::Config config;
  config.flags.nvidia_dev_root = config.flags.nvidia_driver_root;
  config.flags.plugin.pass_device_specs = true;
  config.flags.plugin.device_list_strategies.cdi_cri = true;
  return config;
}

SimulatedMachine::SimulatedMachine(Loop& loop, client::Client& client, MachineOptions options)
    : loop_(&loop), client_(&client), options_(std::move(options)),
      inventory_(make_inventory(loop, options_)),
      runtime_(loop, cdi_, {.machine = options_.name, .default_run_for = options_.default_run_for}),
      socket_(loop) {
  auto rules = numa_rules(options_);
  BERTH_ASSERT(rules.has_value(), to_string(rules.error()));
  numa_ = *std::move(rules);
  runtime_.power_off();
}

SimulatedMachine::~SimulatedMachine() {
  agent_.reset();
  plugins_.reset();
}

void SimulatedMachine::power_on() {
  if (powered_) {
    return;
  }
  powered_ = true;
  runtime_.power_on();
  start_plugin();
  start_agent();
}

void SimulatedMachine::power_off() {
  agent_.reset();
  plugins_.reset();
  runtime_.power_off();
  inventory_.reboot();
  cdi_.clear_dynamic();
  powered_ = false;
}

void SimulatedMachine::crash_agent() {
  agent_.reset();
}

void SimulatedMachine::start_agent() {
  if (!powered_ || agent_) {
    return;
  }
  ++starts_;
  agent_ = std::make_unique<Agent>(
      AgentPlace{.loop = loop_,
                 .client = client_,
                 .runtime = &runtime_,
                 .socket = &socket_,
                 .checkpoint = &disk_,
                 .inventory = &inventory_},
      AgentOptions{.node_document = document_of(options_),
                   .labels = labels_of(options_, inventory_),
                   .discover = discover_of(options_, inventory_),
                   .given_labels = options_.labels,
                   .taints = options_.taints,
                   .replica_limit = deviceplugin::replica_limit(options_.plugin_config.sharing),
                   .startup_taint = options_.startup_taint,
                   .patience = options_.patience,
                   .hami = options_.hami,
                   .numa = numa_,
                   .seed = options_.seed * 1'000'003 + starts_});
}

void SimulatedMachine::crash_plugin() {
  plugins_.reset();
}

void SimulatedMachine::start_plugin() {
  if (!powered_ || plugins_ || inventory_.gpus().empty()) {
    return;
  }
  const auto gpus = static_cast<int>(inventory_.gpus().size());
  plugins_ = std::make_unique<deviceplugin::PluginSet>(
      deviceplugin::PluginPlace{
          .loop = loop_, .inventory = &inventory_, .specs = &specs_, .socket = &socket_},
      deviceplugin::PluginOptions{.config = options_.plugin_config,
                                  .nodes = {.mig = cdi::MigMinors::usual(gpus)},
                                  .policy = options_.gpu_policy});
}

std::vector<std::string> SimulatedMachine::broken_invariants() const {
  std::vector<std::string> broken;
  DevicesInUse in_use;
  std::map<std::string, std::string> user; // device or CPU to pod
  const auto use = [&](const std::string& thing, const std::string& pod) {
    const auto [it, first] = user.emplace(thing, pod);
    if (!first && it->second != pod) {
      broken.push_back(
          fmt::format("{}: {} is used by pods {} and {}", options_.name, thing, it->second, pod));
    }
  };
  // A live agent knows of everything in use.
  const bool settled = agent_ && agent_->settled();
  for (const runtime::ContainerStatus& container : runtime_.running()) {
    const std::string& uid = container.pod_uid;
    const auto parts = parts_of(container);
    const auto text = container.annotations.find(kDevicesAnnotation);
    const auto devices = text == container.annotations.end()
                             ? std::map<std::string, std::vector<std::string>>()
                             : parse_devices(text->second);
    for (const auto& [resource, ids] : devices) {
      for (const std::string& id : ids) {
        in_use.add(resource + " " + id, uid, parts ? std::optional(parts->of(id)) : std::nullopt);
        const auto holders =
            settled ? agent_->devices().holders(resource, id) : std::vector<std::string>{uid};
        if (std::ranges::find(holders, uid) == holders.end()) {
          broken.push_back(fmt::format("{}: {} {} is used by pod {} but held by \"{}\"",
                                       options_.name, resource, id, uid, fmt::join(holders, ",")));
        }
      }
    }
    const topology::CpuSet cpus = own_cpus(container);
    for (const int cpu : cpus) {
      use(fmt::format("cpu {}", cpu), uid);
    }
    if (settled && agent_->numa().cpus().find(uid, container.name).value_or(cpus) != cpus) {
      broken.push_back(fmt::format("{}: container {} of pod {} runs on cpus {}, which are not its "
                                   "own",
                                   options_.name, container.name, uid, cpus.to_string()));
    }
  }
  for (const std::string& line : in_use.broken()) {
    broken.push_back(fmt::format("{}: {}", options_.name, line));
  }
  return broken;
}

} // namespace berth::node
