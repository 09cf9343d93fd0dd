// A pod's status as the kubelet writes it: phase, conditions, container statuses, addresses. Pure:
// from what the runtime shows, what the worker decided and what is stored now.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "berth/api/json.h"
#include "berth/base/time.h"
#include "berth/node/device_pool.h"
#include "berth/node/pod_view.h"

namespace berth::node {

struct Reason {
  std::string reason;
  std::string message;
  bool operator==(const Reason&) const = default;
};

/// Device id to its health, by resource.
using DeviceHealths = std::map<std::string, std::vector<std::pair<std::string, DeviceHealth>>>;

struct StatusFacts {
  std::optional<TimePoint> start_time;
  std::string host_ip;
  /// Why a container waits, where more is known than that it does.
  std::map<std::string, Reason> waiting;
  std::map<std::string, DeviceHealths> devices; ///< by container
  std::map<std::string, std::string> messages;  ///< last words of containers, by their ids
  std::vector<std::string> missing_gates; ///< what of its readinessGates keeps the pod from Ready
  /// The end of the pod: phase Succeeded or Failed, with reason and message ("" for none).
  std::optional<std::string> final_phase;
  Reason verdict;
  TimePoint now;
};

/// The complete status object that follows `stored`: members nobody here owns are kept, conditions
/// keep their transition time while their status stays. Equal to `stored` when there is nothing to
/// write.
api::json::object make_pod_status(const PodView& view, const StatusFacts& facts,
                                  const api::json::value* stored);

/// Condition type of a pod that holds a device which is not healthy: status False.
inline constexpr std::string_view kDevicesHealthyCondition = "berth.dev/DevicesHealthy";

} // namespace berth::node
