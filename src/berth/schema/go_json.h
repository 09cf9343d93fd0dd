// JSON syntax in the words of Go's decoder, which clients of a Kubernetes API server see.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace berth::schema {

/// What encoding/json says of a text that is not one JSON value: "unexpected end of JSON input",
/// "invalid character 'o' in literal null (expecting 'u')". nullopt if the text is sound. Nesting
/// deeper than 1000 is refused ("exceeded max depth"). O(size).
std::optional<std::string> json_syntax_error(std::string_view text);

} // namespace berth::schema
