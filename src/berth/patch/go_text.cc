#include "berth/patch/go_text.h"

#include <algorithm>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "berth/api/json.h"

namespace berth::patch {
namespace {

std::vector<const json::key_value_pair*> sorted(const json::object& object) {
  std::vector<const json::key_value_pair*> members;
  for (const auto& member : object) {
    members.push_back(&member);
  }
  std::ranges::sort(members, {}, [](const auto* member) { return member->key(); });
  return members;
}

} // namespace

std::string go_value(const json::value& value) {
  if (const json::object* object = value.if_object()) {
    std::string out;
    for (const auto* member : sorted(*object)) {
      out +=
          (out.empty() ? "" : " ") + std::string(member->key()) + ":" + go_value(member->value());
    }
    return "map[" + out + "]";
  }
  if (const json::array* array = value.if_array()) {
    std::string out;
    for (std::size_t i = 0; i < array->size(); ++i) {
      out += (i == 0 ? "" : " ") + go_value((*array)[i]);
    }
    return "[" + out + "]";
  }
  if (const json::string* text = value.if_string()) {
    return std::string(*text);
  }
  return value.is_null() ? "<nil>" : api::to_json(value);
}

std::string go_syntax(const json::value& value) {
  if (const json::object* object = value.if_object()) {
    std::string out;
    for (const auto* member : sorted(*object)) {
      out += (out.empty() ? "" : ", ") + api::to_json(json::value(member->key())) + ":" +
             go_syntax(member->value());
    }
    return "map[string]interface {}{" + out + "}";
  }
  if (const json::array* array = value.if_array()) {
    std::string out;
    for (std::size_t i = 0; i < array->size(); ++i) {
      out += (i == 0 ? "" : ", ") + go_syntax((*array)[i]);
    }
    return "[]interface {}{" + out + "}";
  }
  return value.is_null() ? "interface {}(nil)" : api::to_json(value);
}

std::string_view go_type(const json::value& value) {
  switch (value.kind()) {
  case json::kind::object:
    return "map[string]interface {}";
  case json::kind::array:
    return "[]interface {}";
  case json::kind::string:
    return "string";
  case json::kind::int64:
  case json::kind::uint64:
    return "int64";
  case json::kind::double_:
    return "float64";
  case json::kind::bool_:
    return "bool";
  case json::kind::null:
    return "<nil>";
  }
  return "<nil>";
}

} // namespace berth::patch
