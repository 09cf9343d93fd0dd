// The machines of a simulated cluster: hardware with an agent and a device plugin each, and what
// can befall them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/loop.h"
#include "berth/base/rng.h"
#include "berth/client/faulty_client.h"
#include "berth/cluster/cluster.h"
#include "berth/cluster/spec.h"
#include "berth/node/simulated_machine.h"

namespace berth::cluster {

/// Owns the machines, and for each the client through which its agent reaches the API, so that a
/// machine can be cut off. Machines are held and visited in the order of their making.
class Fleet {
 public:
  Fleet(Loop& loop, client::Client& api, Rng rng, const ClusterOptions& options,
        hardware::Catalogue catalogue);
  ~Fleet();
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  /// Makes the group's machines and switches them on.
  void add(const NodeGroup& group, const NodeLabels& node_labels);
  /// Makes one machine for a Kubernetes Node object and switches it on. Precondition: it decodes.
  void add(const api::Object& node);
  void set_line_faults(const client::Faults& faults);
  bool has(std::string_view node) const { return machines_.contains(node); }

  /// Faults that name no machine of this fleet do nothing.
  void inject(const Fault& fault);

  /// Every running agent has done what it can, and no container has an end in sight.
  bool settled() const;
  /// One line for each thing that keeps settled() false.
  std::vector<std::string> in_motion() const;
  std::vector<runtime::ContainerFacts> facts(std::string_view node, std::string_view pod_uid) const;
  const hardware::Platform* platform_of(std::string_view node) const;
  /// Grows whenever what runs on any machine changes.
  std::uint64_t changes() const;
  /// Every broken rule of any machine, prefixed with its name.
  std::vector<std::string> broken_invariants() const;
  std::vector<std::string> names() const;
  node::SimulatedMachine* find(std::string_view node);

 private:
  struct Place {
    const hardware::Platform* platform = nullptr;
    std::unique_ptr<client::FaultyClient> link;
    std::unique_ptr<node::SimulatedMachine> machine;
    std::string mig;                     ///< how its GPUs are cut whenever it boots
    std::unique_ptr<Timer> plugin_pause; ///< ends the last crash of the plugin
    std::unique_ptr<Timer> line_pause;   ///< ends the last cut of the line
  };
  void add(node::MachineOptions options, std::string_view mig = "");
  static void boot(Place& place);

  Loop& loop_;
  client::Client& api_;
  Rng rng_;
  hardware::Catalogue catalogue_;
  Duration default_run_for_;
  hardware::ChoicePolicy gpu_policy_;
  client::Faults line_faults_;
  std::map<std::string, Place, std::less<>> machines_;
};

} // namespace berth::cluster
