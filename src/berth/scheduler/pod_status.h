// The documents a scheduler writes to a pod: its PodScheduled condition, its nominated node, a
// victim's condition.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "berth/api/object.h"

namespace berth::scheduler {

struct ConditionChange {
  std::string_view type;
  std::string_view status;
  std::string_view reason;
  std::string_view message;
};

/// A merge patch of status that sets one condition (others kept as `pod` has them) and, if given,
/// nominatedNodeName ("" removes it). nullopt if the pod says all that already. lastTransitionTime
/// changes with the status only.
std::optional<api::json::value> condition_patch(const api::Object& pod,
                                                const ConditionChange& change,
                                                std::optional<std::string_view> nominated_node,
                                                TimePoint now);

} // namespace berth::scheduler
