// Amounts of resources: names, quantities, requests against limits. Source:
// kubernetes/pkg/apis/core/validation validateResourceRequirements.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "berth/api/quantity.h"
#include "berth/store/validation/judged.h"

namespace berth::store {

using ClaimNames = std::set<std::string, std::less<>>;

/// One container's {limits, requests, claims}; `claims` are the names of the pod's resource claims.
void check_resources(const Judged& resources, const ClaimNames& claims);
/// The pod's own {limits, requests}: cpu, memory and huge pages alone.
void check_pod_resources(const Judged& spec);

/// Names and quantities of a plain list: a claim's requests, a node's capacity.
void check_quantities(const Judged& list);
/// The quantity at a text or number; none if it does not parse.
std::optional<api::Quantity> quantity_of(const Judged& value);

/// "nvidia.com/gpu": fully qualified and not Kubernetes' own; counted in whole numbers, never
/// overcommitted.
bool is_extended_resource(std::string_view name);
/// cpu, memory, pods, services, ...: what needs no prefix.
bool is_standard_resource(std::string_view name);

} // namespace berth::store
