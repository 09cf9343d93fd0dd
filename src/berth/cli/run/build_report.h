// From what was observed to the report's values.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "berth/cli/run/load.h"
#include "berth/cli/run/observer.h"
#include "berth/report/run_report.h"

namespace berth::cli {

struct RunFacts {
  const RunOptions* options = nullptr;
  const cluster::ClusterSpec* spec = nullptr;
  const std::vector<api::Manifest>* objects = nullptr;
  const std::vector<report::Note>* notes = nullptr;
  const std::vector<cluster::Applied>* applied = nullptr;
  const Observer* observer = nullptr;
  const cluster::Cluster* cluster = nullptr;
  TimePoint start;
  TimePoint end;
  report::Outcome outcome = report::Outcome::Settled;
};

/// Everything but the exit code. Asks an empty cluster about pods that are stuck (alone.h).
report::RunReport build_report(const RunFacts& facts);

/// Nodes by platform, in the order of --nodes, and the flags that matter for repeating the run.
report::ClusterLine cluster_line(const cluster::ClusterSpec& spec, const RunOptions& options);

/// The kinds among the objects that nothing here acts on, by apiVersion and kind.
std::vector<report::UnhandledKind> unhandled_kinds(const std::vector<api::Manifest>& objects);

/// 0: every pod that could run on this cluster ran. 1: something failed, was refused, or could run
/// and did not. 3, only with --exit-code: all that could run ran, but some pod can never run here.
int exit_code_of(const report::RunReport& report, bool with_exit_code);

/// A pod's containers as the report shows them.
boost::json::value container_document(const runtime::ContainerFacts& facts);

} // namespace berth::cli
