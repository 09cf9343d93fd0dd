// A configuration file of NVIDIA's device plugin. It is read or refused with a place in the file;
// what it makes of a machine's GPUs has distinct ids, each on a GPU that the machine has.
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "berth/base/assert.h"
#include "berth/deviceplugin/config/config_file.h"
#include "berth/deviceplugin/discovery_options.h"
#include "berth/deviceplugin/resource_plan.h"
#include "berth/hardware/platform.h"
#include "berth/inventory/discovery_labels.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto config = deviceplugin::read_config_file(text, "f.yaml");
  if (!config) {
    const Error& error = config.error();
    BERTH_ASSERT(error.code == Code::Invalid, to_string(error));
    BERTH_ASSERT(error.where && error.where->file == "f.yaml" && error.where->line >= 1,
                 to_string(error));
    return 0;
  }
  BERTH_ASSERT(deviceplugin::read_config_file(text, "f.yaml") == *config, "it is not a function");
  if (!deviceplugin::validate(*config)) {
    return 0;
  }
  static const inventory::NodeFacts kFacts =
      inventory::simulated_facts(*hardware::Catalogue::builtin().find("hgx-a100-4"), "n1");
  constexpr int kMostReplicas = 1000; // more are only slow
  const deviceplugin::SharedResources* shared = config->sharing.resources();
  for (const auto& resource :
       shared ? shared->resources : std::vector<deviceplugin::SharedResource>()) {
    if (resource.replicas > kMostReplicas) {
      return 0;
    }
  }
  const deviceplugin::ResourcePlan plan = deviceplugin::plan_resources(kFacts, *config);
  BERTH_ASSERT(!plan.resources.empty(), "a node with GPUs has a resource");
  for (const deviceplugin::PlannedResource& resource : plan.resources) {
    std::set<std::string> ids;
    for (const deviceplugin::PluginDevice& device : resource.devices) {
      BERTH_ASSERT(ids.insert(device.id).second, resource.name + " has twice " + device.id);
      BERTH_ASSERT(device.gpu >= 0 && device.gpu < static_cast<int>(kFacts.gpus.size()), device.id);
      BERTH_ASSERT(device.id.starts_with(device.uuid), device.id);
    }
  }
  (void)inventory::discovery_labels(kFacts, deviceplugin::discovery_options(*config));
  return 0;
}
