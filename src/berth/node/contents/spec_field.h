// Members of a pod's document that no typed view holds: numbers, truth values and lists by dotted
// path. What is absent, null or of another type reads as absent; the API server has validated it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/json.h"

namespace berth::node {

std::optional<std::int64_t> int_at(const api::json::value& value, std::string_view dotted);
std::optional<bool> bool_at(const api::json::value& value, std::string_view dotted);
/// The elements of the list; none if there is no list.
const api::json::array& list_at(const api::json::value& value, std::string_view dotted);
std::vector<std::string> strings_at(const api::json::value& value, std::string_view dotted);
std::vector<std::int64_t> ints_at(const api::json::value& value, std::string_view dotted);
/// The element of a list whose "name" is so; nullptr if there is none.
const api::json::value* named_at(const api::json::value& value, std::string_view dotted,
                                 std::string_view name);
/// The container or init container of that name in a pod's document; nullptr if there is none.
const api::json::value* container_spec(const api::json::value& pod, std::string_view name);

} // namespace berth::node
