// Volumes of a pod: sources, names. Source: kubernetes/pkg/apis/core/validation ValidateVolumes.
#pragma once

#include <map>
#include <string>

#include "berth/store/validation/judged.h"

namespace berth::store {

/// The volumes without a fault, by name, for those who mount them.
using Volumes = std::map<std::string, const api::json::value*, std::less<>>;

/// Judges `spec`.volumes.
Volumes check_volumes(const Judged& spec);

/// A pod, unlike a template, may not ask for tokens of an account it does not name.
void check_projected_tokens(const Judged& spec);

/// One field of the downward API, among those that `supported` names.
void check_field_reference(const Judged& reference, const std::vector<std::string>& supported);
/// One resource of a container; `of_volume` must name the container.
void check_resource_reference(const Judged& reference, bool of_volume);

} // namespace berth::store
