// The whole environment of a container on a real machine: envFrom, then env with references to
// ConfigMaps, Secrets, the pod's fields and the container's resources, then the services. Pure.
// Rule: kubelet's makeEnvironmentVariables; a later value wins, services never do.
#pragma once

#include <map>
#include <string>

#include "berth/api/json.h"
#include "berth/base/result.h"
#include "berth/model/pod.h"
#include "berth/node/container_env.h"
#include "berth/node/contents/sources.h"

namespace berth::node {

struct EnvironmentFacts {
  const Sources* sources = nullptr;
  PodAddress address;
  model::ResourceList allocatable;             ///< of the node: limits that are not set
  std::map<std::string, std::string> services; ///< see service_env()
};

/// `container` is the document of `view`. Each name once, in the order of its first mention.
/// Errors are what the pod's status shows under CreateContainerConfigError.
Result<Environment> full_environment(const api::json::value& pod, const api::json::value& container,
                                     const model::Pod& view, const EnvironmentFacts& facts);

} // namespace berth::node
