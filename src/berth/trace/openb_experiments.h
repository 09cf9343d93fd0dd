// The published FGD experiments on openb: which policies, as profiles, and the recorded results to
// compare with.
#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/result.h"
#include "berth/trace/arrivals.h"

namespace berth::trace {

/// One score plugin on top of what decides where a pod fits: NodeResourcesFit and GpuShare.
/// `plugin` is BestFit, DotProduct, GpuPacking, GpuClustering, FGD, BidPrice or Random.
sched::Profile packing_profile(std::string_view plugin, const sched::TargetWorkload& target);

struct OpenbOptions {
  std::filesystem::path dir;          ///< golden.csv, orders/, the node and pod tables
  std::vector<std::string> workloads; ///< empty: all that golden.csv has
  std::vector<std::string> policies;  ///< plugins; empty: all recorded ones
  std::vector<std::string> seeds;     ///< empty: all that golden.csv has
  int threads = 1;
};

/// Replays every recorded series and prints a line for each difference: of the milli held at the
/// end, of the pods turned away, and of any point of a curve by more than 0.01 percentage points.
/// The last line is "N series: A agree, D differ". Returns D. Errors: what cannot be read; nothing
/// is recorded of what was asked for.
Result<int> compare_openb(const OpenbOptions& options, std::ostream& out);

/// Percent of GPUs idle when as much as the cluster has was asked for, by workload and policy: the
/// mean over the recorded seeds, and the worst seed.
struct OpenbScore {
  std::string workload;
  std::string policy;
  double mean = 0;
  double worst = 0;
  int seeds = 0;
};
Result<std::vector<OpenbScore>> score_openb(const OpenbOptions& options);

} // namespace berth::trace
