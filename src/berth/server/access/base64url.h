// base64url without padding, as JSON web tokens are written. Source: RFC 4648 section 5, RFC 7515.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace berth::server {

std::string to_base64url(std::string_view bytes);
/// None for anything that to_base64url would not have written: padding, other characters, bits left
/// over.
std::optional<std::string> from_base64url(std::string_view text);

} // namespace berth::server
