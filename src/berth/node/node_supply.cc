#include "berth/node/node_supply.h"

#include <algorithm>
#include <utility>

#include <fmt/ranges.h>

#include "berth/hardware/choose.h"
#include "berth/model/gpu_slices.h"
#include "berth/node/chosen_slices.h"
#include "berth/node/plugin_endpoints.h"

namespace berth::node {
namespace {

bool annotated(const api::Object& node, std::string_view resource) {
  const auto found = node.meta().annotations.find(model::kPluginResourcesAnnotation);
  return found != node.meta().annotations.end() &&
         fmt::format(",{},", found->second).find(fmt::format(",{},", resource)) !=
             std::string::npos;
}

} // namespace

NodeSupply::NodeSupply(Place place, const api::json::value& base, Rules rules)
    : place_(place), base_(&base), rules_(std::move(rules)) {
  if (rules_.hami && place.inventory && !place.inventory->gpus().empty()) {
    hami_.emplace(*rules_.hami, *place.inventory);
  }
}

bool NodeSupply::configured(std::string_view resource) const {
  return std::ranges::find(rules_.plugin_resources, resource) != rules_.plugin_resources.end();
}

// Of whatever resource: GPUs, their replicas, MIG devices. A plugin may call devices what it likes;
// of a resource that is known to be GPUs any will do.
bool NodeSupply::awaits_gpus() const {
  if (rules_.startup_taint == StartupTaint::None || !place_.inventory ||
      place_.inventory->gpus().empty()) {
    return false;
  }
  const PluginEndpoints& plugins = place_.devices->plugins();
  return std::ranges::none_of(plugins.resources(), [&](const std::string& resource) {
    const std::vector<std::string> healthy = plugins.pool(resource)->healthy();
    return !healthy.empty() &&
           (configured(resource) || std::ranges::any_of(healthy, [&](const std::string& id) {
              return place_.gpus->gpu_of(id).has_value();
            }));
  });
}

// One GPU is as many vGPUs as may share it.
std::map<std::string, DeviceCount> NodeSupply::accounting() const {
  std::map<std::string, DeviceCount> counts = place_.devices->accounting();
  const auto gpus = counts.find(std::string(model::kGpuResource));
  if (hami_ && gpus != counts.end()) {
    gpus->second.capacity *= hami_->split_count();
    gpus->second.allocatable *= hami_->split_count();
  }
  return counts;
}

model::ResourceList NodeSupply::allocatable() const {
  model::ResourceList list = node_resources(*base_, "allocatable");
  for (const auto& [resource, count] : accounting()) {
    auto held = static_cast<std::int64_t>(place_.devices->ledger().held(resource).size());
    held *= hami_ && resource == model::kGpuResource ? hami_->split_count() : 1;
    list.insert_or_assign(resource, api::Quantity::from_int(std::max(count.allocatable, held)));
  }
  return list;
}

bool NodeSupply::needs_plugin(std::string_view resource, const api::Object& stored) const {
  // Amounts of HAMi's vGPUs are no devices: its plugin gives them with nvidia.com/gpu.
  const bool amount = resource == model::hami::kMemory ||
                      resource == model::hami::kMemoryPercentage || resource == model::hami::kCores;
  if (amount || !is_extended_resource(resource)) {
    return false;
  }
  if (configured(resource)) {
    return true;
  }
  const model::ResourceList given = node_resources(*base_, "capacity");
  if (given.contains(resource)) {
    return false;
  }
  // Somebody advertised it in the node's status by hand, unless a plugin did and the checkpoint
  // that knew of it is lost.
  if (stored && !place_.devices->plugins().knows(resource) && !annotated(stored, resource)) {
    return !node_resources(stored.json(), "capacity").contains(resource);
  }
  return true;
}

std::vector<std::string> NodeSupply::given_by_plugins(const api::Object& stored) const {
  std::vector<std::string> names;
  const model::ResourceList given = node_resources(*base_, "capacity");
  for (const auto& [resource, amount] : node_resources(stored.json(), "capacity")) {
    if ((configured(resource) || annotated(stored, resource)) && !given.contains(resource)) {
      names.push_back(resource);
    }
  }
  return names;
}

/// What needs a plugin though no configuration says so: also while none has come back yet.
std::set<std::string> NodeSupply::unconfigured(const api::Object& stored) const {
  std::set<std::string> names;
  for (const auto& [resource, count] : place_.devices->accounting()) {
    names.insert(resource);
  }
  if (stored) {
    for (const auto& [resource, amount] : node_resources(stored.json(), "capacity")) {
      if (annotated(stored, resource)) {
        names.insert(resource);
      }
    }
  }
  std::erase_if(names, [this](const std::string& name) { return configured(name); });
  return names;
}

model::ShareableGpus NodeSupply::shareable(const api::Object& stored) const {
  if (!place_.inventory || place_.inventory->gpus().empty() || hami_) {
    return {};
  }
  const auto view = stored ? model::node_view(stored) : model::decode_node(*base_);
  if (!view) {
    return {};
  }
  return model::shareable_gpus(**view, std::ssize(place_.inventory->gpus()));
}

std::vector<model::hami::Device> NodeSupply::vgpus() const {
  return hami_ ? hami_->gpus() : std::vector<model::hami::Device>();
}

NodeFacts NodeSupply::facts(const api::Object& stored, TimePoint now, const PodIsOver& over) const {
  NodeFacts facts{.devices = accounting(),
                  .departed = place_.devices->departed(),
                  .plugin_resources = rules_.plugin_resources,
                  .awaits_gpus = awaits_gpus(),
                  .now = now};
  const PluginEndpoints& plugins = place_.devices->plugins();
  if (const auto sick = place_.health->unhealthy()) {
    facts.annotations.emplace(model::kUnhealthyGpusAnnotation, hardware::format_gpu_indices(*sick));
    facts.annotations.emplace(
        model::kGpuDevicesAnnotation,
        model::format_node_slices(slices_of(plugins, *place_.gpus, rules_.replica_limit)));
  }
  const api::Labels held = stored ? stored.meta().annotations : api::Labels();
  facts.annotations.emplace(model::kPluginResourcesAnnotation,
                            fmt::format("{}", fmt::join(unconfigured(stored), ",")));
  facts.annotations.merge(hami_ ? hami_->annotations(plugins, held, now, over)
                                : hami_annotations_to_remove(held));
  return facts;
}

} // namespace berth::node
