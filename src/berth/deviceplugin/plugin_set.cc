#include "berth/deviceplugin/plugin_set.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "berth/base/log.h"
#include "berth/deviceplugin/node_specs.h"

namespace berth::deviceplugin {
namespace {

constexpr Duration kFirstBackoff = Duration::seconds(1);
constexpr Duration kLastBackoff = Duration::seconds(30);
/// A kubelet has taken the empty list by then.
constexpr Duration kRetireAfter = Duration::seconds(10);
/// How long an Xid counts that the GPU's own answer does not tell of.
constexpr Duration kMarkHolds = Duration::minutes(5);
constexpr std::string_view kLog = "device-plugin";

/// The plan without devices that no written spec has.
void keep_written(const std::set<std::string>& written, ResourcePlan& plan) {
  for (PlannedResource& resource : plan.resources) {
    std::erase_if(resource.devices,
                  [&](const PluginDevice& device) { return !written.contains(device.uuid); });
  }
}

std::set<std::string> uuids_of(const inventory::NodeFacts& facts,
                               const std::vector<std::string>& without) {
  std::set<std::string> uuids;
  for (const inventory::GpuFacts& gpu : facts.gpus) {
    uuids.insert(gpu.info.uuid);
    for (const inventory::MigDevice& device : gpu.mig) {
      uuids.insert(device.uuid);
    }
  }
  for (const std::string& uuid : without) {
    uuids.erase(uuid);
  }
  return uuids;
}

} // namespace

PluginSet::PluginSet(PluginPlace place, PluginOptions options)
    : place_(place), options_(std::move(options)), book_(options_.config.health, kMarkHolds),
      rewrite_(*place_.loop), backoff_(kFirstBackoff), retire_(*place_.loop),
      review_(*place_.loop) {
  for (const std::string& remark : options_.config.remarks) {
    log(LogLevel::Warn, kLog, remark);
  }
  for (const std::string& note : options_.nodes.notes) {
    log(LogLevel::Warn, kLog, note);
  }
  probe_all();
  events_ =
      place_.inventory->subscribe([this](const inventory::HealthEvent& event) { on_event(event); });
  look();
}

PluginSet::~PluginSet() = default;

GpuPlugin* PluginSet::find(std::string_view resource) const {
  const auto it = plugins_.find(resource);
  return it == plugins_.end() ? nullptr : it->second.get();
}

std::vector<std::string> PluginSet::resources() const {
  std::vector<std::string> names;
  for (const auto& [name, plugin] : plugins_) {
    names.push_back(name);
  }
  return names;
}

std::vector<std::string> PluginSet::problems() const {
  std::vector<std::string> all = plan_.problems;
  if (!spec_problem_.empty()) {
    all.push_back(spec_problem_);
  }
  for (const auto& [name, control] : mps_) {
    if (!control->problem().empty()) {
      all.push_back(control->problem());
    }
  }
  return all;
}

// What the node has now, and the plugins that follow from it.
void PluginSet::look() {
  rewrite_.cancel();
  facts_ = place_.inventory->survey();
  book_.recut(facts_);
  ResourcePlan plan = plan_resources(facts_, options_.config);
  const NodeSpecs specs = node_specs(facts_, options_.config, options_.nodes);
  const bool needs_capabilities = options_.config.flags.plugin.device_list_strategies.any_cdi() ||
                                  options_.config.flags.plugin.pass_device_specs;
  const std::vector<std::string> missing =
      needs_capabilities ? specs.without_capabilities : std::vector<std::string>();
  for (const std::string& uuid : missing) {
    plan.problems.push_back(fmt::format(
        "MIG device {} is not advertised: the driver has no capability files of it", uuid));
  }
  plan.problems.insert(plan.problems.end(), specs.problems.begin(), specs.problems.end());
  if (const auto written = write_specs(specs); written) {
    written_ = uuids_of(facts_, missing);
    spec_problem_.clear();
    backoff_ = kFirstBackoff;
  } else {
    spec_problem_ = fmt::format("devices are not advertised before their CDI spec is written: {}",
                                to_string(written.error()));
    log(LogLevel::Error, kLog, spec_problem_);
    rewrite_.set(backoff_, [this] { look(); });
    backoff_ = std::min(backoff_ * 2, kLastBackoff);
    if (written_.empty()) {
      log_new_problems(plan);
      plan_ = ResourcePlan{.resources = {}, .problems = plan.problems};
      return;
    }
  }
  for (const PlannedResource& resource : plan.resources) {
    if (resource.sharing == inventory::Sharing::Mps && place_.commands == nullptr) {
      plan.problems.push_back(fmt::format(
          "{} is not advertised: nothing here can start MPS; try time slicing", resource.name));
    }
  }
  keep_written(written_, plan);
  adopt(std::move(plan));
}

Result<void> PluginSet::write_specs(const NodeSpecs& specs) {
  std::set<std::string> files;
  if (options_.config.flags.plugin.device_list_strategies.any_cdi()) {
    for (const NodeSpec& each : specs.specs) {
      BERTH_CHECK(place_.specs->put(each.file, each.spec));
      spec_files_.insert(each.file);
      files.insert(each.file);
    }
  }
  // Specs of an earlier life too: nothing of them is advertised any more.
  spec_files_.insert(std::string(kCdiSpecFile));
  for (const std::string& file : spec_files_) {
    if (!files.contains(file)) {
      BERTH_CHECK(place_.specs->remove(file));
    }
  }
  spec_files_ = std::move(files);
  return {};
}

void PluginSet::log_new_problems(const ResourcePlan& plan) const {
  for (const std::string& problem : plan.problems) {
    if (std::ranges::find(plan_.problems, problem) == plan_.problems.end()) {
      log(LogLevel::Error, kLog, problem);
    }
  }
}

void PluginSet::adopt(ResourcePlan plan) {
  log_new_problems(plan);
  plan_ = std::move(plan);
  for (const PlannedResource& resource : plan_.resources) {
    serve(resource);
  }
  bool vanished = false;
  for (const auto& [name, plugin] : plugins_) {
    if (plan_.find(name) == nullptr) {
      vanished = true;
      plugin->show({.name = name, .devices = {}}, {});
    }
  }
  if (vanished) {
    retire_.set(kRetireAfter, [this] { retire(); });
  }
}

// Shows the resource, by a new plugin if there is none yet and it may be had.
void PluginSet::serve(const PlannedResource& resource) {
  auto found = plugins_.find(resource.name);
  if (found == plugins_.end()) {
    if (resource.sharing == inventory::Sharing::Mps && !mps_ready(resource)) {
      return;
    }
    found = plugins_
                .emplace(resource.name,
                         std::make_unique<GpuPlugin>(*place_.loop, *place_.inventory,
                                                     *place_.socket, options_, resource.name))
                .first;
  }
  show(*found->second, resource);
}

bool PluginSet::mps_ready(const PlannedResource& resource) {
  if (place_.commands == nullptr || resource.devices.empty()) {
    return resource.devices.empty();
  }
  const auto found = mps_.find(resource.name);
  if (found != mps_.end()) {
    return found->second->ready();
  }
  mps_.emplace(resource.name, std::make_unique<MpsControl>(
                                  *place_.loop, *place_.commands,
                                  plan_mps(resource, facts_, options_.config.flags.mps_root),
                                  [this, name = resource.name] {
                                    if (const PlannedResource* planned = plan_.find(name)) {
                                      serve(*planned);
                                    }
                                  }));
  return false;
}

// The plugins of resources that are no more.
void PluginSet::retire() {
  std::erase_if(plugins_, [&](const auto& entry) { return plan_.find(entry.first) == nullptr; });
  std::erase_if(mps_, [&](const auto& entry) {
    const bool gone = plan_.find(entry.first) == nullptr;
    if (gone) {
      entry.second->stop();
    }
    return gone;
  });
}

void PluginSet::probe_all() {
  for (const inventory::GpuInfo& gpu : place_.inventory->gpus()) {
    book_.probed(gpu.index, place_.inventory->probe(gpu.index));
  }
}

void PluginSet::on_event(const inventory::HealthEvent& event) {
  if (event.kind == inventory::HealthEvent::Kind::Mig) {
    look();
    return;
  }
  if (event.gpu < 0 || static_cast<std::size_t>(event.gpu) >= facts_.gpus.size()) {
    return;
  }
  // The event is only the occasion; what counts is what the GPU answers now.
  book_.probed(event.gpu, place_.inventory->probe(event.gpu));
  book_.heard(event, facts_, place_.loop->now());
  show_all();
  review_later();
}

void PluginSet::show_all() {
  for (const auto& [name, plugin] : plugins_) {
    if (const PlannedResource* resource = plan_.find(name)) {
      show(*plugin, *resource);
    }
  }
}

void PluginSet::show(GpuPlugin& plugin, const PlannedResource& resource) const {
  std::vector<Device> devices;
  devices.reserve(resource.devices.size());
  for (const PluginDevice& planned : resource.devices) {
    Device& device = devices.emplace_back();
    device.id = planned.id;
    device.health = book_.healthy(planned) ? kHealthy : kUnhealthy;
    if (planned.numa) {
      device.numa_nodes = {*planned.numa};
    }
  }
  plugin.show(resource, std::move(devices));
}

void PluginSet::review_later() {
  const auto at = book_.review_at();
  if (!at) {
    review_.cancel();
    return;
  }
  review_.set(*at - place_.loop->now(), [this] {
    probe_all();
    book_.review(place_.loop->now());
    show_all();
    review_later();
  });
}

} // namespace berth::deviceplugin
