// Why a pod is not running, as a stable code and one sentence beside Kubernetes' own message.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "berth/cli/run/alone.h"
#include "berth/cluster/flight_record.h"
#include "berth/model/pod.h"
#include "berth/report/run_report.h"

namespace berth::cli {

/// What the cluster has, at the end of a run.
struct NodeRoom {
  std::string name;
  model::ResourceList allocatable;
  bool ready = true;
  std::int64_t gpus_free = 0; ///< none on a node that is not ready or cordoned
};

/// "3 Insufficient nvidia.com/gpu" of a FailedScheduling message.
struct Reason {
  std::int64_t nodes = 0;
  std::string text;

  bool operator==(const Reason&) const = default;
};

/// The reasons of "0/6 nodes are available: 4 Insufficient nvidia.com/gpu, 2 node(s) didn't match
/// ...", in order; none for any other message.
std::vector<Reason> parse_failed_scheduling(std::string_view message);

/// Does a scheduler run here that pods with this schedulerName are for?
enum class SchedulerOfPod { Here, Elsewhere };

/// The pod must be neither running nor succeeded, or being deleted. What an empty cluster says
/// decides between "never" and "not now", and a pod that never fits is explained by what it lacks
/// there, not by what others hold.
report::StuckPod explain_stuck(const model::Pod& pod, const cluster::PodWalk& walk,
                               const AloneAnswer& alone, const std::vector<NodeRoom>& nodes,
                               SchedulerOfPod scheduler = SchedulerOfPod::Here);

} // namespace berth::cli
