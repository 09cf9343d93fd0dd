// Typed, immutable view of a core/v1 Node.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "berth/model/pod.h"

namespace berth::model {

struct Taint {
  std::string key;
  std::string value;
  std::string effect; ///< NoSchedule, PreferNoSchedule or NoExecute
  std::optional<TimePoint> time_added;

  bool operator==(const Taint&) const = default;
};

/// Kubernetes' toleration rule (Equal, Exists; empty key with Exists tolerates everything).
bool tolerates(const Toleration& toleration, const Taint& taint);
bool tolerates(const std::vector<Toleration>& tolerations, const Taint& taint);

struct ContainerImage {
  std::vector<std::string> names;
  std::int64_t size_bytes = 0;
};

struct Node {
  api::ObjectMeta meta;
  bool unschedulable = false;
  std::vector<Taint> taints;
  ResourceList capacity;
  ResourceList allocatable;
  std::vector<Condition> conditions;
  std::vector<ContainerImage> images;

  const std::string& name() const { return meta.name; }
  /// Condition Ready is True.
  bool ready() const;
};

/// Catalogue name of the node's hardware, e.g. "dgx-h100"; set by Berth's agent and by --nodes.
inline constexpr std::string_view kPlatformLabel = "berth.dev/platform";
/// GPU indices the agent has found unhealthy, e.g. "3,5"; absent when none. They are not in
/// allocatable.
inline constexpr std::string_view kUnhealthyGpusAnnotation = "berth.dev/unhealthy-gpus";

Result<std::shared_ptr<const Node>> decode_node(const api::json::value& document);
inline Result<std::shared_ptr<const Node>> node_view(const api::Object& object) {
  return object.view<Node>(&decode_node);
}

} // namespace berth::model
