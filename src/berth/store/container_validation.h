// Containers of a pod: names, images, ports, environment, mounts, resources.
#pragma once

#include <string>

#include "berth/api/json.h"
#include "berth/store/errors.h"

namespace berth::store {

/// Judges `spec`.containers and initContainers; `path` is the spec's field path.
void check_containers(const api::json::object& spec, const std::string& path, FieldErrors& errors);

/// One {limits, requests}: quantities, names, request against limit.
void check_resources(const api::json::object& resources, const std::string& path,
                     FieldErrors& errors);

/// "nvidia.com/gpu": fully qualified and not Kubernetes' own; counted in whole numbers, never
/// overcommitted.
bool is_extended_resource(std::string_view name);

} // namespace berth::store
