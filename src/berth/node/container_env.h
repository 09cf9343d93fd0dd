// The environment a pod's document gives a container: literal values with $(NAME) references, and
// values from the pod's own fields (the downward API).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/api/json.h"

namespace berth::node {

struct PodAddress {
  std::string pod_ip;
  std::string host_ip;
};

using Environment = std::vector<std::pair<std::string, std::string>>;

/// In order; values from config maps, secrets and resources are left out. O(entries x length).
Environment container_env(const api::json::value& pod, const api::json::value& container,
                          const PodAddress& address);

/// "$(NAME)" is replaced where NAME is known, "$$" is "$", anything else stays.
std::string expand_references(std::string_view text, const Environment& known);

/// A field of the downward API: metadata.name, metadata.labels['x'], spec.nodeName, status.podIP,
/// ...; "" if unknown.
std::string downward_field(const api::json::value& pod, std::string_view path,
                           const PodAddress& address);

} // namespace berth::node
