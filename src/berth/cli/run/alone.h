// "Could it ever run here?", asked of the cluster itself: a stuck pod, with its gang, gets an empty
// cluster of the same nodes, and the same code decides.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "berth/api/manifest.h"
#include "berth/cluster/cluster.h"
#include "berth/cluster/flight_record.h"
#include "berth/report/run_report.h"

namespace berth::cli {

struct AloneAnswer {
  report::Alone alone = report::Alone::Unknown;
  /// Never: what the scheduler of the empty cluster said; "" if it was not the scheduler who
  /// refused.
  std::string message = {};
};

struct AloneQuestion {
  const cluster::ClusterSpec* spec = nullptr; ///< faults are left out
  cluster::ClusterOptions options;
  const std::vector<api::Manifest>* objects =
      nullptr; ///< priority classes, PodGroups and storage are taken from here
};

/// For each pod that waits for the scheduler, by namespace/name: Runs or Never. Pods of `all` that
/// belong to the gang of a stuck one are submitted with it. Pods that differ only in name and owner
/// are asked for once.
std::map<std::string, AloneAnswer>
ask_alone(const AloneQuestion& question,
          const std::vector<std::shared_ptr<const cluster::PodWalk>>& stuck,
          const std::vector<std::shared_ptr<const cluster::PodWalk>>& all);

} // namespace berth::cli
