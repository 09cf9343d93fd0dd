// Changes that controllers make to a pod's status, as edited copies to be stored with
// Subresource::Status. Forms: core/v1 PodStatus.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "berth/api/object.h"
#include "berth/base/time.h"

namespace berth::controllers {

struct PodCondition {
  std::string_view type;
  std::string_view status;
  std::string_view reason;  ///< "" keeps what is there
  std::string_view message; ///< "" keeps what is there
};

/// The pod with this condition; lastTransitionTime moves only when the status changes.
api::Object with_condition(const api::Object& pod, const PodCondition& condition, TimePoint now);

/// The pod with phase Failed.
api::Object with_phase_failed(const api::Object& pod);

/// For FreshView: the node's name, if the pod is bound.
std::vector<std::string> index_by_node(const api::Object& pod);
/// spec.nodeName; "" if unbound or no object.
std::string_view node_name(const api::Object& pod);
/// Phase Succeeded or Failed.
bool terminal(const api::Object& pod);
/// Condition Ready is True.
bool pod_ready(const api::Object& pod);
/// When condition Ready last changed; the epoch if it is not there.
TimePoint ready_since(const api::Object& pod);

} // namespace berth::controllers
