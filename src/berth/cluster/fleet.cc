#include "berth/cluster/fleet.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "berth/base/assert.h"
#include "berth/cluster/node_names.h"

namespace berth::cluster {
namespace {

/// A container will end by itself and something new will come of it.
bool has_an_end_in_sight(const node::SimulatedMachine& machine) {
  return std::ranges::any_of(machine.runtime().pods_with_an_end(), [&](const std::string& uid) {
    return machine.agent() == nullptr || !machine.agent()->repeats(uid);
  });
}

} // namespace

Fleet::Fleet(Loop& loop, client::Client& api, Rng rng, const ClusterOptions& options,
             hardware::Catalogue catalogue)
    : loop_(loop), api_(api), rng_(std::move(rng)), catalogue_(std::move(catalogue)),
      default_run_for_(options.default_run_for), gpu_policy_(options.gpu_policy),
      line_faults_(options.line_faults) {}

Fleet::~Fleet() = default;

void Fleet::add(const NodeGroup& group, const NodeLabels& node_labels) {
  const hardware::Platform* platform = catalogue_.find(group.platform);
  for (const std::string& name : node_names(group)) {
    api::Labels labels = group.labels;
    if (const auto more = node_labels.find(name); more != node_labels.end()) {
      for (const auto& [key, value] : more->second) {
        labels.emplace(key, value);
      }
    }
    add(node::MachineOptions{.name = name,
                             .platform = platform,
                             .labels = std::move(labels),
                             .taints = group.taints,
                             .plugin_config = group.device_plugin,
                             .hami = group.hami,
                             .numa = group.numa},
        group.mig);
  }
}

void Fleet::add(const api::Object& object) {
  const auto node = model::node_view(object);
  const hardware::Platform* platform = node ? catalogue_.of_node(**node) : nullptr;
  add(node::MachineOptions{
      .name = object.meta().name, .platform = platform, .node_document = object.json()});
}

void Fleet::add(node::MachineOptions options, std::string_view mig) {
  options.default_run_for = default_run_for_;
  options.gpu_policy = gpu_policy_;
  options.seed = rng_.next();
  Place place{.platform = options.platform};
  place.link = std::make_unique<client::FaultyClient>(api_, loop_, rng_.fork(machines_.size()),
                                                      line_faults_);
  const std::string name = options.name;
  place.machine = std::make_unique<node::SimulatedMachine>(loop_, *place.link, std::move(options));
  place.plugin_pause = std::make_unique<Timer>(loop_);
  place.line_pause = std::make_unique<Timer>(loop_);
  place.mig = mig;
  boot(place);
  machines_.emplace(name, std::move(place));
}

// A GPU loses its MIG devices with the power; what manages them on a machine makes them anew at its
// start, before the plugin looks.
void Fleet::boot(Place& place) {
  node::SimulatedMachine& machine = *place.machine;
  if (!machine.powered() && !place.mig.empty()) {
    for (const inventory::GpuInfo& gpu : machine.inventory().gpus()) {
      const auto cut = machine.inventory().cut(gpu.index, place.mig);
      BERTH_ASSERT(cut.has_value(), to_string(cut.error()));
    }
  }
  machine.power_on();
}

void Fleet::set_line_faults(const client::Faults& faults) {
  line_faults_ = faults;
  for (auto& [name, place] : machines_) {
    place.link->set_faults(faults);
  }
}

void Fleet::inject(const Fault& fault) {
  const auto it = machines_.find(fault.node);
  if (it == machines_.end()) {
    return;
  }
  Place& place = it->second;
  node::SimulatedMachine& machine = *place.machine;
  switch (fault.kind) {
  case Fault::Kind::Xid:
    (void)machine.inventory().xid(fault.gpu,
                                  fault.code); // an index that the machine lacks hurts nobody
    break;
  case Fault::Kind::Repair:
    (void)machine.inventory().repair(fault.gpu);
    break;
  case Fault::Kind::NodeDown:
    machine.power_off();
    break;
  case Fault::Kind::NodeUp:
    boot(place);
    break;
  case Fault::Kind::AgentCrash:
    machine.crash_agent();
    if (machine.powered()) {
      machine.start_agent();
    }
    break;
  case Fault::Kind::PluginCrash:
    machine.crash_plugin();
    place.plugin_pause->set(fault.pause, [&machine] {
      if (machine.powered()) {
        machine.start_plugin();
      }
    });
    break;
  case Fault::Kind::Cut:
    place.link->disconnect();
    place.line_pause->set(fault.pause, [link = place.link.get()] { link->reconnect(); });
    break;
  }
}

bool Fleet::settled() const {
  return std::ranges::all_of(machines_, [](const auto& entry) {
    const node::SimulatedMachine& machine = *entry.second.machine;
    return !entry.second.plugin_pause->armed() && !entry.second.line_pause->armed() &&
           !has_an_end_in_sight(machine) &&
           (machine.agent() == nullptr || machine.agent()->settled());
  });
}

std::vector<std::string> Fleet::in_motion() const {
  std::vector<std::string> lines;
  for (const auto& [name, place] : machines_) {
    const node::SimulatedMachine& machine = *place.machine;
    if (place.plugin_pause->armed() || place.line_pause->armed()) {
      lines.push_back(fmt::format("{}: a fault has not ended", name));
    }
    if (has_an_end_in_sight(machine)) {
      lines.push_back(fmt::format("{}: a container ends at {}", name,
                                  to_rfc3339(machine.runtime().next_end())));
    }
    if (machine.agent() != nullptr && !machine.agent()->settled()) {
      for (const std::string& pod : machine.agent()->in_motion()) {
        lines.push_back(fmt::format("{}: {}", name, pod));
      }
    }
  }
  return lines;
}

std::vector<runtime::ContainerFacts> Fleet::facts(std::string_view node,
                                                  std::string_view pod_uid) const {
  const auto it = machines_.find(node);
  return it == machines_.end() ? std::vector<runtime::ContainerFacts>()
                               : std::as_const(*it->second.machine).runtime().facts(pod_uid);
}

const hardware::Platform* Fleet::platform_of(std::string_view node) const {
  const auto it = machines_.find(node);
  return it == machines_.end() ? nullptr : it->second.platform;
}

std::uint64_t Fleet::changes() const {
  std::uint64_t sum = 0;
  for (const auto& [name, place] : machines_) {
    sum += std::as_const(*place.machine).runtime().changes();
  }
  return sum;
}

std::vector<std::string> Fleet::broken_invariants() const {
  std::vector<std::string> broken;
  for (const auto& [name, place] : machines_) {
    for (const std::string& text : place.machine->broken_invariants()) {
      broken.push_back(fmt::format("{}: {}", name, text));
    }
  }
  return broken;
}

std::vector<std::string> Fleet::names() const {
  std::vector<std::string> names;
  for (const auto& [name, place] : machines_) {
    names.push_back(name);
  }
  return names;
}

node::SimulatedMachine* Fleet::find(std::string_view node) {
  const auto it = machines_.find(node);
  return it == machines_.end() ? nullptr : it->second.machine.get();
}

} // namespace berth::cluster
