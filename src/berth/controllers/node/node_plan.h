// What a node's heartbeat and conditions make of its status and taints. Rules: the Kubernetes node
// lifecycle controller; taint keys of the well-known labels list.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include <boost/json/array.hpp>

#include "berth/api/object.h"
#include "berth/base/time.h"
#include "berth/model/node.h"

namespace berth::controllers {

inline constexpr std::string_view kNotReadyTaint = "node.kubernetes.io/not-ready";
inline constexpr std::string_view kUnreachableTaint = "node.kubernetes.io/unreachable";
inline constexpr std::string_view kOutOfServiceTaint = "node.kubernetes.io/out-of-service";

/// The status.conditions of a silent node: Ready and the pressures become Unknown. None if they are
/// already.
std::optional<api::json::array> silent_conditions(const api::Object& node, TimePoint now);

/// spec.taints as the node's conditions demand: not-ready or unreachable (NoSchedule and
/// NoExecute), pressures, unavailable network, cordoned. Other taints and the times of standing
/// ones are kept. None if nothing changes.
std::optional<std::vector<model::Taint>> demanded_taints(const model::Node& node, TimePoint now);

/// Form of spec.taints.
api::json::array write_taints(const std::vector<model::Taint>& taints);

/// The status of a condition; "" if there is none.
std::string_view condition_status(const model::Node& node, std::string_view type);

} // namespace berth::controllers
