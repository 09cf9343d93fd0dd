// Exact JSON on Boost.JSON's hooks: doubles round-trip bit for bit, errors carry line and column,
// duplicate keys are errors. Boost.JSON's own parser and serializer are not used for objects
// (imprecise doubles, "1E0").
#pragma once

#include <string>
#include <string_view>

#include <boost/json/value.hpp>

#include "berth/base/result.h"

namespace berth::api {

namespace json = boost::json;

/// Parses one JSON text. Depth limit 128. Error: Invalid with Where{file, line, column}. O(size).
Result<json::value> parse_json(std::string_view text, std::string_view file = "",
                               json::storage_ptr storage = {});

/// Compact JSON, members in their order. Doubles print as Go prints them: integral values below
/// 1e21 without exponent or fraction, shortest round-trip digits otherwise. Strings: UTF-8 kept,
/// control characters escaped.
std::string to_json(const json::value& value);
/// The same, indented by two blanks, as `kubectl -o json` shows it (4 blanks there).
std::string to_pretty_json(const json::value& value, int indent = 4);

/// Member `key` of an object; nullptr if the value is no object or has no such member or it is
/// null.
const json::value* find(const json::value& value, std::string_view key);
/// Value at a dotted path of member names, e.g. "spec.template.metadata"; nullptr if absent or null
/// on the way.
const json::value* find_path(const json::value& value, std::string_view dotted);
/// String at the dotted path; "" if absent or no string.
std::string_view string_at(const json::value& value, std::string_view dotted);
/// The object member `key`, created empty if absent or null.
json::object& object_at(json::object& parent, std::string_view key);

/// RFC 7386: objects merge member by member, null removes, anything else replaces.
void merge_patch(json::value& target, const json::value& patch);

} // namespace berth::api
