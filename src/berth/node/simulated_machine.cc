#include "berth/node/simulated_machine.h"

#include <algorithm>
#include <utility>

#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "berth/node/container_config.h"
#include "berth/node/node_status.h"

namespace berth::node {
namespace {

api::json::value document_of(const MachineOptions& options) {
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

int gpu_count(const api::json::value& node) {
  const model::ResourceList capacity = node_resources(node, "capacity");
  const auto gpus = capacity.find(model::kGpuResource);
  constexpr std::int64_t kMost = 1024;
  return gpus == capacity.end()
             ? 0
             : static_cast<int>(std::clamp<std::int64_t>(gpus->second.value(), 0, kMost));
}

inventory::SimulatedInventory make_inventory(Loop& loop, const MachineOptions& options) {
  if (options.platform) {
    return {loop, *options.platform, options.name};
  }
  return {loop, gpu_count(document_of(options)), options.name};
}

} // namespace

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
  agent_ = std::make_unique<Agent>(AgentPlace{.loop = loop_,
                                              .client = client_,
                                              .runtime = &runtime_,
                                              .socket = &socket_,
                                              .checkpoint = &disk_,
                                              .inventory = &inventory_},
                                   AgentOptions{.node_document = document_of(options_),
                                                .labels = options_.labels,
                                                .taints = options_.taints,
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
  std::map<std::string, std::string> user; // device to pod
  for (const runtime::ContainerStatus& container : runtime_.running()) {
    const auto text = container.annotations.find(kDevicesAnnotation);
    if (text == container.annotations.end()) {
      continue;
    }
    for (const auto& [resource, ids] : parse_devices(text->second)) {
      for (const std::string& id : ids) {
        const std::string device = resource + " " + id;
        const auto [it, first] = user.emplace(device, container.pod_uid);
        if (!first && it->second != container.pod_uid) {
          broken.push_back(fmt::format("{}: {} is used by pods {} and {}", options_.name, device,
                                       it->second, container.pod_uid));
        }
        // A live agent knows of every device in use.
        if (agent_ && agent_->settled() &&
            agent_->devices().holder(resource, id) != container.pod_uid) {
          broken.push_back(fmt::format("{}: {} is used by pod {} but held by \"{}\"", options_.name,
                                       device, container.pod_uid,
                                       agent_->devices().holder(resource, id)));
        }
      }
    }
  }
  return broken;
}

} // namespace berth::node
