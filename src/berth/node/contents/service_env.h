// The environment variables that tell a container where services are: NAME_SERVICE_HOST and the
// docker-link forms. Pure. Rule: kubelet pkg/kubelet/envvars.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "berth/api/object.h"

namespace berth::node {

/// Of services with a cluster IP, by name of the variable.
std::map<std::string, std::string> service_env(const std::vector<api::Object>& services);

} // namespace berth::node
