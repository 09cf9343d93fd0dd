// The packing experiment of GPU scheduling research: pods arrive one by one on an empty cluster,
// are placed or turned away for good, and never leave. Spec simulators A.3. Deciding is the
// scheduler's own: state, framework and Decider as everywhere else.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "berth/base/result.h"
#include "berth/sched/framework.h"
#include "berth/trace/openb.h"

namespace berth::trace {

/// After one arrival, in milli of GPUs.
struct ArrivalPoint {
  std::int64_t arrived = 0; ///< those turned away included
  std::int64_t held = 0;
  double fragment = 0; ///< of what is idle, for the target workload
};

struct ArrivalResult {
  std::vector<ArrivalPoint> points; ///< by arrival
  std::int64_t total = 0;           ///< milli of all GPUs
  std::int64_t turned_away = 0;     ///< pods

  std::int64_t held() const { return points.empty() ? 0 : points.back().held; }
};

/// The nodes in order of rank (which decides between equals), the pods in order of arrival.
/// `target` is only measured; the profile's plugins have their own. Errors: the profile's.
Result<ArrivalResult> run_arrivals(const std::vector<TraceNode>& nodes,
                                   const std::vector<TracePod>& pods, const ArrivalOrder& order,
                                   const sched::Profile& profile,
                                   const sched::TargetWorkload& target);

/// Percent of all GPUs held, and that is fragments, where so many percent have arrived: the mean
/// over the arrivals that round (half to even) to the whole percent, each first rounded to 1/100 as
/// published; where there are none, the mean of the neighbouring percents. Index: percent, 0 to
/// 130.
struct ArrivalCurves {
  std::vector<double> held;
  std::vector<double> fragment;
};
ArrivalCurves curves_of(const ArrivalResult& result);

} // namespace berth::trace
