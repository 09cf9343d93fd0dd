// Everything `berth run` reads before anything runs: manifests, cluster and topology files, the
// scheduler's configuration, and what they add up to.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "berth/api/manifest.h"
#include "berth/base/result.h"
#include "berth/cli/run/options.h"
#include "berth/cluster/spec.h"
#include "berth/report/run_report.h"

namespace berth::scheduler {
struct SchedulerOptions;
}

namespace berth::cli {

struct Load {
  std::vector<api::Manifest> objects; ///< to apply, in reading order; no Nodes
  cluster::ClusterSpec spec;
  /// What options.scheduler_config says; null without it.
  std::shared_ptr<const scheduler::SchedulerOptions> scheduler;
  std::vector<report::Note> notes; ///< for the user
  std::vector<Error> errors;       ///< not empty: nothing must run
};

/// Reads all of it, collecting one error a file. Nodes among the manifests join the cluster.
/// Objects without a namespace get options.ns; namespaces nobody defines are added; what a server
/// sets (uid, resourceVersion, status, owners) is dropped from objects that were dumped from one.
/// Equal objects given twice count once.
Load load_run(const RunOptions& options);

} // namespace berth::cli
