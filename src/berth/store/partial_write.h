// What a write through a subresource may change of an object: the rest stays as it is stored.
// Source: the PrepareForUpdate of the strategies in kubernetes/pkg/registry.
#pragma once

#include <boost/json/fwd.hpp>

#include "berth/store/request.h"

namespace berth::store {

/// `wanted` with what the write may not touch taken from `current`. An unknown container of a
/// resize is left in, for validation to refuse.
api::json::value partial_write(const api::Object& current, const api::Object& wanted,
                               Subresource subresource);

/// A pod's quality of service is told at its creation; who writes its status may leave it out.
void keep_quality(const api::Object& current, api::json::object& document);

} // namespace berth::store
