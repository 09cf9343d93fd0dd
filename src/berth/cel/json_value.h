// JSON as expressions see it, by its declared type: texts become times, durations or bytes, whole
// numbers become doubles. Nothing is copied: the document must outlive its values.
#pragma once

#include <boost/json/fwd.hpp>

#include "berth/cel/value.h"

namespace berth::cel {

/// `type` dyn: as JSON says. What does not fit the type is taken as JSON says. O(1).
Value from_json(const boost::json::value& json, const TypeRef& type);

} // namespace berth::cel
