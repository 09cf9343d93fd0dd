// What must hold in a cluster whatever happens to it. Checked after every event of a seeded run.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "berth/cluster/cluster.h"
#include "berth/sched/framework.h"
#include "berth/sim/gpu_invariants.h"

namespace berth::sim {

/// Reads the API's truth and the machines' own, never the components' opinions, except for gangs,
/// where the scheduler's state says when a group first had enough members placed.
class Invariants {
 public:
  /// `profiles` are those of the cluster's scheduler.
  Invariants(cluster::Cluster& cluster, std::vector<sched::Profile> profiles)
      : cluster_(cluster), profiles_(std::move(profiles)), gpus_(cluster) {}

  /// After every event:
  ///  - no GPU is in use by two pods' containers, none is promised to two pods of a node;
  ///  - the pods bound to a node fit its hardware;
  ///  - no member of a gang is bound unless enough members were placed at once before;
  ///  - no Job has more active pods than its parallelism;
  ///  - what GpuInvariants says of GPUs that are shared.
  /// Empty is well.
  std::vector<std::string> broken();

  /// When all is quiet:
  ///  - no pod is between states: each runs, has ended, or is pending with a reason;
  ///  - a pending pod is one that a scheduler starting now could not place either;
  ///  - no gang holds nodes for fewer members than it needs, unless it has run before;
  ///  - what GpuInvariants says.
  std::vector<std::string> broken_when_quiet();

  /// When everything was deleted: no pods, no holdings on any machine, nothing placed in the
  /// scheduler.
  std::vector<std::string> broken_when_empty();

 private:
  void check_nodes(std::vector<std::string>& broken) const;
  void check_gangs(std::vector<std::string>& broken);
  void check_jobs(std::vector<std::string>& broken) const;

  cluster::Cluster& cluster_;
  std::vector<sched::Profile> profiles_;
  GpuInvariants gpus_;
  std::uint64_t checked_ = 0;  ///< Cluster::changes at the last check
  std::set<api::Key> quorate_; ///< groups that once had enough members placed
};

} // namespace berth::sim
