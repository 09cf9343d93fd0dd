// What must hold of GPUs that several pods share: as replicas, as MIG devices, as HAMi's vGPUs.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "berth/cluster/cluster.h"
#include "berth/model/pod.h"
#include "berth/node/simulated_machine.h"

namespace berth::sim {

/// The cluster outlives it.
class GpuInvariants {
 public:
  using PodView = std::shared_ptr<const model::Pod>;

  explicit GpuInvariants(cluster::Cluster& cluster) : cluster_(cluster) {}

  /// After every event, with the pods that have not ended:
  ///  - of no GPU are more replicas or MIG devices promised than it has;
  ///  - an agent gives a pod those on the GPUs that were chosen, on nodes that nothing befell;
  ///  - the vGPUs that are promised of a GPU are no more, in number, memory and cores, than its
  ///  node
  ///    registered;
  ///  - the vGPUs that an agent gave a container are those that were chosen for it;
  ///  - MIG devices of a GPU lie side by side.
  void check(const std::vector<PodView>& live, std::vector<std::string>& broken);

  /// When all is quiet: the scheduler counts what was promised, on each GPU.
  void check_when_quiet(const std::vector<PodView>& live, std::vector<std::string>& broken) const;

 private:
  void check_promised(const std::vector<PodView>& live, std::vector<std::string>& broken) const;
  void check_slices(const std::vector<PodView>& live, std::vector<std::string>& broken) const;
  void check_vgpus(const std::vector<PodView>& live, std::vector<std::string>& broken) const;
  void check_given(const PodView& pod, const node::SimulatedMachine& machine,
                   std::vector<std::string>& broken) const;
  void check_mig(std::string_view node, node::SimulatedMachine& machine,
                 std::vector<std::string>& broken) const;

  cluster::Cluster& cluster_;
  std::set<std::string, std::less<>> disturbed_; ///< nodes
};

} // namespace berth::sim
