// GPUs of a node given as HAMi's vGPUs (model/hami.h): what its device plugin would register of
// them, and what it would write on the Node.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/json.h"
#include "berth/base/result.h"
#include "berth/base/time.h"
#include "berth/inventory/inventory.h"
#include "berth/model/hami.h"
#include "berth/node/plugin_endpoints.h"

namespace berth::node {

/// The settings of HAMi's device plugin, with its defaults.
struct HamiSettings {
  int split_count = 10;       ///< how many containers may share a GPU
  int memory_permille = 1000; ///< of a GPU's memory that is given; above 1000: more than it has
  int cores_permille = 1000;

  bool operator==(const HamiSettings&) const = default;
};

/// {"deviceSplitCount": 10, "deviceMemoryScaling": 1.5, "deviceCoreScaling": "1"}, as in HAMi's
/// configuration; what is absent has its default. Error Invalid, naming the field.
Result<HamiSettings> read_hami_settings(const api::json::value& settings);

/// The GPUs of one life of an agent, whose facts do not change.
class HamiSharing {
 public:
  /// Asks every GPU for its name.
  HamiSharing(const HamiSettings& settings, const inventory::Inventory& inventory);

  /// All of them, by index, as if they were well.
  const std::vector<model::hami::Device>& gpus() const { return gpus_; }
  int split_count() const { return settings_.split_count; }
  /// Those that the plugin of nvidia.com/gpu lists, by index, with their health and NUMA nodes.
  std::vector<model::hami::Device> registered(const PluginEndpoints& plugins) const;

  /// Annotations of the Node that are to be otherwise; "" is to be absent. A scheduler that asks
  /// whether the plugin lives is answered, and the lock of a pod that has what it was to get, or
  /// will not get it, released. `over`: whether that is so of a pod.
  std::map<std::string, std::string>
  annotations(const PluginEndpoints& plugins, const api::Labels& stored, TimePoint now,
              const std::function<bool(std::string_view ns, std::string_view name)>& over) const;

 private:
  HamiSettings settings_;
  std::vector<model::hami::Device> gpus_;
};

/// What an agent that does not share its GPUs so takes from its Node: what one that did has left
/// there. Of a Node that HAMi's own device plugin registered, nothing.
std::map<std::string, std::string> hami_annotations_to_remove(const api::Labels& stored);

} // namespace berth::node
