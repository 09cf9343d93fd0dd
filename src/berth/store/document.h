// Reading and completing members of a JSON object in place: the vocabulary of defaulting.
#pragma once

#include <optional>
#include <string_view>

#include <boost/json/value.hpp>

#include "berth/api/json.h"

namespace berth::store {

/// A copy to edit and store, in plain memory whatever the original's is.
inline api::json::value editable(const api::json::value& stored) {
  return api::json::value(stored, api::json::storage_ptr());
}

/// The string member; "" if absent or no string.
inline std::string_view text_at(const api::json::object& object, std::string_view member) {
  const api::json::value* value = object.if_contains(member);
  return value != nullptr && value->is_string() ? std::string_view(value->get_string())
                                                : std::string_view();
}

/// Whether the member is there and not null.
inline bool has(const api::json::object& object, std::string_view member) {
  const api::json::value* value = object.if_contains(member);
  return value != nullptr && !value->is_null();
}

/// Sets the member unless it is there.
inline void set_default(api::json::object& object, std::string_view member,
                        api::json::value value) {
  if (!has(object, member)) {
    object[member] = std::move(value);
  }
}

/// The object member; nullptr if absent or of another type.
inline api::json::object* object_in(api::json::object& object, std::string_view member) {
  api::json::value* value = object.if_contains(member);
  return value == nullptr ? nullptr : value->if_object();
}

/// Calls `edit` with every object in the array member, if there is one.
template <class F> void each_in(api::json::object& object, std::string_view member, const F& edit) {
  api::json::value* value = object.if_contains(member);
  api::json::array* items = value == nullptr ? nullptr : value->if_array();
  if (items == nullptr) {
    return;
  }
  for (api::json::value& item : *items) {
    if (api::json::object* one = item.if_object()) {
      edit(*one);
    }
  }
}

} // namespace berth::store
