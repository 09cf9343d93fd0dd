// Texts that Kubernetes reads with code of their own: quantities, times, base64. Canonical forms,
// and errors in the words of Go's libraries.
#pragma once

#include <string>
#include <string_view>

#include "berth/base/result.h"
#include "berth/schema/type.h"

namespace berth::schema {

/// "1000m" -> "1". Errors of apimachinery's ParseQuantity.
Result<std::string> canonical_quantity(std::string_view text);
/// RFC 3339 with zone offset -> UTC in whole seconds, or microseconds for a MicroTime. Errors of
/// Go's time.Parse.
Result<std::string> canonical_time(const Type& type, std::string_view text);
/// Whether the text is base64 as encoding/base64 reads it: "illegal base64 data at input byte 4".
Result<void> check_base64(std::string_view text);

/// Form String, read as a time; `type` then is a Time or a MicroTime.
bool is_time(const Type& type);

} // namespace berth::schema
