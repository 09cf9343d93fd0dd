// Formats of texts that API servers check: the registry of kube-openapi's strfmt, where it is in
// use. Formats that are not known here pass, as they do there.
#pragma once

#include <string_view>

namespace berth::schema {

/// Whether the text has the format: "date-time", "date", "duration", "byte", "ipv4", "ipv6",
/// "cidr", "mac", "uuid", "uri", "email", "hostname".
bool has_format(std::string_view text, std::string_view format);

} // namespace berth::schema
