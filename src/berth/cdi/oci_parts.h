// The parts of an OCI runtime spec document that CDI edits go into.
#pragma once

#include "berth/api/json.h"
#include "berth/base/result.h"

namespace berth::cdi {

namespace json = boost::json;

/// Each part is absent, null, or the list or object that it has to be: one of another type would
/// have to be thrown away to add to it. Error Invalid with the field.
Result<void> check_oci_parts(const json::object& oci);

} // namespace berth::cdi
