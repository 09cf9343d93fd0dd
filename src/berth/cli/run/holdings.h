// Who held which GPUs from when to when: the base of the GPU map, of gangs' bandwidth and of
// utilisation.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "berth/cli/run/observer.h"
#include "berth/report/run_report.h"

namespace berth::cli {

/// A pod on a node, from its binding until it ended or the run did.
struct Holding {
  std::shared_ptr<const cluster::PodWalk> walk;
  std::string pod;  ///< namespace/name
  std::string gang; ///< namespace/name of its PodGroup; "" if none
  std::string node;
  std::vector<int> gpus; ///< ascending
  TimePoint from;
  TimePoint to;

  bool at(TimePoint when) const { return from <= when && when < to; }
};

/// In the order of the flight record. `end` closes what is still held; it counts as held at `end`
/// itself.
std::vector<Holding> holdings_of(const Observer& observer, TimePoint end);

/// When GPUs are held, each GPU on its own: spans of one GPU that pods share are one. `from` before
/// `to`, both by time. O(n log n).
std::vector<std::pair<TimePoint, TimePoint>> spans_held(const std::vector<Holding>& holdings);

/// The first moment at which most GPUs are held; `fallback` if none ever is. O(n log n).
TimePoint busiest_moment(const std::vector<Holding>& holdings, TimePoint fallback);

/// Every node with GPUs that was there at `when`, by name.
report::GpuMap map_at(TimePoint when, TimePoint start, const std::vector<Holding>& holdings,
                      const Observer& observer, const cluster::Cluster& cluster);

/// Before: numbers inside names compare as numbers, so that node-2 comes before node-10.
bool natural_less(std::string_view a, std::string_view b);

/// nvidia.com/gpu of a node's capacity.
int gpu_capacity(const api::Object& node);

} // namespace berth::cli
