// Which ConfigMaps and Secrets of its namespace a pod refers to. Pure. A reference is optional only
// if every place that makes it says so. Rules: kubelet's env, envFrom, volumes and pull secrets.
#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/json.h"

namespace berth::node {

enum class SourceKind { ConfigMap, Secret };
/// "configmap" or "secret", as messages name them.
std::string_view to_string(SourceKind kind);

struct SourceName {
  SourceKind kind = SourceKind::ConfigMap;
  std::string name;
  auto operator<=>(const SourceName&) const = default;
};

struct Reference {
  SourceName source;
  bool optional = false;
  bool operator==(const Reference&) const = default;
};

/// Of one container's env and envFrom; sorted, each once.
std::vector<Reference> env_references(const api::json::value& container);
/// Of one volume: configMap, secret, and the sources of projected.
std::vector<Reference> volume_references(const api::json::value& volume);
/// Of a pod's imagePullSecrets, none of which must exist.
std::vector<Reference> pull_secret_references(const api::json::value& pod);
/// All of the above for a whole pod.
std::vector<Reference> pod_references(const api::json::value& pod);

} // namespace berth::node
