// Picking device ids for one container: the kubelet's checks in the kubelet's order, with its error
// texts. Pure: the plugin's advice comes in as an argument between two steps.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/result.h"
#include "berth/deviceplugin/contract.h"

namespace berth::node {

struct PickRequest {
  std::string pod_uid;
  std::string container;
  std::string resource;
  std::int64_t required = 0;
  /// What the same pod, container and resource holds already; none if nothing was ever allocated.
  std::optional<std::vector<std::string>> existing;
  bool registered = false;
  std::vector<std::string> healthy; ///< in the plugin's order
  std::set<std::string> held;       ///< by anyone
  std::set<std::string> reusable;   ///< left by this pod's init containers
  std::map<std::string, std::vector<std::int64_t>>
      numa; ///< device to its nodes; absent: no topology
  std::optional<std::set<std::int64_t>>
      hint; ///< topology manager's NUMA nodes; none under policy "none"
  /// The only devices that may be used, in order of preference: the scheduler's choice. None: any.
  std::optional<std::vector<std::string>> chosen;
  /// Parts of devices are asked for: `held` are those without room for them, `healthy` are in order
  /// of preference, and there is nothing to ask a plugin.
  bool in_parts = false;
  /// Why a device of `held` is, where there is more to say: "300 of its 1000 thousandths are left".
  std::map<std::string, std::string> why_held = {};
};

/// What is decided before the plugin is asked.
struct PickPlan {
  std::vector<std::string> picked; ///< reused so far
  std::vector<std::string> aligned;
  std::vector<std::string> unaligned;
  std::vector<std::string> no_affinity;
  std::size_t needed = 0; ///< still to be picked
  std::size_t required = 0;
  bool in_parts = false;

  bool complete() const { return needed == 0; }
  /// Which question to ask a plugin that answers GetPreferredAllocation; none if nothing is left to
  /// choose.
  std::optional<deviceplugin::PreferredAllocationRequest> question() const;
};

/// The checks and the split. Error Invalid with the kubelet's text.
Result<PickPlan> plan_pick(const PickRequest& request);

/// The ids for the container (all of them new to it), given the plugin's preference (empty: none).
/// A preference that names devices that may not be used is followed as far as it may. Error: fewer
/// than required.
Result<std::vector<std::string>> finish_pick(const PickPlan& plan,
                                             const std::vector<std::string>& preferred);

/// What would have to become free for the pick to succeed: the devices in `held` that may be used.
std::vector<std::string> missing_devices(const PickRequest& request);

} // namespace berth::node
