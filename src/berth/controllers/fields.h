// Reading single fields of documents that have no typed view.
#pragma once

#include <cstdint>
#include <string_view>

#include "berth/api/json.h"
#include "berth/api/object.h"

namespace berth::controllers {

/// The number at a dotted path; `fallback` if there is none.
inline std::int64_t number_at(const api::json::value& document, std::string_view path,
                              std::int64_t fallback) {
  const api::json::value* value = api::find_path(document, path);
  return value != nullptr && value->is_number() ? value->to_number<std::int64_t>() : fallback;
}
inline std::int64_t number_at(const api::Object& object, std::string_view path,
                              std::int64_t fallback) {
  return number_at(object.json(), path, fallback);
}

/// Whether the field is there and true.
inline bool flag_at(const api::Object& object, std::string_view path) {
  const api::json::value* value = api::find_path(object.json(), path);
  return value != nullptr && value->is_bool() && value->get_bool();
}

/// The array at a dotted path; an empty one if there is none.
inline const api::json::array& array_at(const api::json::value& document, std::string_view path) {
  static const api::json::array kNone;
  const api::json::value* value = api::find_path(document, path);
  return value != nullptr && value->is_array() ? value->get_array() : kNone;
}

} // namespace berth::controllers
