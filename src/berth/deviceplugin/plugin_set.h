// The device plugins of a node: one for each resource that its GPUs and the configuration make,
// over one inventory and one kubelet socket. Same names, ids, environment and CDI names as NVIDIA's
// k8s-device-plugin; beyond it, devices return to Healthy when a probe proves them well, a change
// of MIG is seen while it runs, and what cannot be advertised leaves the rest alone.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/loop.h"
#include "berth/cdi/spec_store.h"
#include "berth/deviceplugin/gpu_plugin.h"
#include "berth/deviceplugin/health/health_book.h"
#include "berth/deviceplugin/mps/mps_control.h"
#include "berth/inventory/inventory.h"

namespace berth::deviceplugin {

struct NodeSpecs;

/// What the plugins work with. All outlive them.
struct PluginPlace {
  Loop* loop = nullptr;
  inventory::Inventory* inventory = nullptr;
  cdi::SpecStore* specs = nullptr;
  KubeletSocket* socket = nullptr;
  CommandRunner* commands = nullptr; ///< for MPS; nullptr: what is shared by it never gets ready
};

/// Lives from construction to destruction, which is a crash of every plugin. A resource is
/// registered once the CDI spec of its devices is written and, with MPS, its limits are in force;
/// both are tried again until they succeed. A resource that is no more shows no devices, and its
/// plugin goes a little later.
class PluginSet {
 public:
  PluginSet(PluginPlace place, PluginOptions options);
  ~PluginSet();
  PluginSet(const PluginSet&) = delete;
  PluginSet& operator=(const PluginSet&) = delete;

  /// By resource name; nullptr: there is none, or it is not ready.
  GpuPlugin* find(std::string_view resource) const;
  std::vector<std::string> resources() const;
  /// Why something is not advertised now.
  std::vector<std::string> problems() const;

 private:
  void look();
  Result<void> write_specs(const NodeSpecs& specs);
  void log_new_problems(const ResourcePlan& plan) const;
  void adopt(ResourcePlan plan);
  void serve(const PlannedResource& resource);
  bool mps_ready(const PlannedResource& resource);
  void retire();
  void probe_all();
  void on_event(const inventory::HealthEvent& event);
  void show_all();
  void show(GpuPlugin& plugin, const PlannedResource& resource) const;
  void review_later();

  PluginPlace place_;
  PluginOptions options_;
  inventory::NodeFacts facts_;
  ResourcePlan plan_;
  HealthBook book_;
  std::set<std::string> written_;    ///< UUIDs in the specs that were written
  std::set<std::string> spec_files_; ///< that were written
  std::string spec_problem_;
  std::unique_ptr<inventory::Subscription> events_;
  std::map<std::string, std::unique_ptr<MpsControl>, std::less<>> mps_;
  std::map<std::string, std::unique_ptr<GpuPlugin>, std::less<>> plugins_;
  Timer rewrite_;
  Duration backoff_;
  Timer retire_;
  Timer review_;
};

} // namespace berth::deviceplugin
