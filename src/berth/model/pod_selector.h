// Which pods an object speaks for: the selectors of Service, ReplicationController, ReplicaSet and
// StatefulSet, as far as scheduling reads these kinds.
#pragma once

#include <memory>
#include <optional>

#include "berth/api/object.h"
#include "berth/api/selector.h"
#include "berth/base/result.h"

namespace berth::model {

/// spec.selector of one object: a map of labels (Service, ReplicationController) or a label
/// selector.
struct PodSelector {
  api::ObjectMeta meta;
  std::optional<api::Selector> selector; ///< none: selects nothing
};

Result<std::shared_ptr<const PodSelector>> decode_label_map(const api::json::value& document);
Result<std::shared_ptr<const PodSelector>> decode_pod_selector(const api::json::value& document);

/// Of a Service or ReplicationController.
inline Result<std::shared_ptr<const PodSelector>> label_map_view(const api::Object& o) {
  return o.view<PodSelector>(&decode_label_map);
}
/// Of a ReplicaSet or StatefulSet.
inline Result<std::shared_ptr<const PodSelector>> pod_selector_view(const api::Object& o) {
  return o.view<PodSelector>(&decode_pod_selector);
}

} // namespace berth::model
