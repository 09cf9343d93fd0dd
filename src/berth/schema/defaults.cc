#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "berth/schema/validate.h"

namespace berth::schema {
namespace {

namespace json = boost::json;

bool is_wrong_null(const json::value& value, const Type& type) {
  return value.is_null() && !type.nullable && type.structural && type.form != Form::Any;
}

void default_members(json::object& object, const Type& type) {
  for (const Field& field : type.fields) {
    if (!field.type->structural) {
      continue;
    }
    json::value* given = object.if_contains(field.name);
    if (given == nullptr || is_wrong_null(*given, *field.type)) {
      if (field.type->default_value) {
        object[field.name] = *field.type->default_value;
      } else if (given != nullptr) {
        object.stable_erase(object.find(field.name));
      }
    }
    if (json::value* present = object.if_contains(field.name)) {
      apply_defaults(*present, *field.type);
    }
  }
}

void default_elements(json::object& object, const Type& element) {
  std::vector<std::string> nulls;
  for (auto& [key, value] : object) {
    if (is_wrong_null(value, element)) {
      if (!element.default_value) {
        nulls.emplace_back(key);
        continue;
      }
      value = *element.default_value;
    }
    apply_defaults(value, element);
  }
  for (const std::string& key : nulls) {
    object.stable_erase(object.find(key));
  }
}

} // namespace

void apply_defaults(json::value& value, const Type& type) {
  if (!type.structural) {
    return;
  }
  if (auto* object = value.if_object()) {
    if (type.form == Form::Struct) {
      default_members(*object, type);
    } else if (type.form == Form::Map) {
      default_elements(*object, *type.element);
    }
  } else if (auto* array = value.if_array(); array != nullptr && type.form == Form::List) {
    for (json::value& element : *array) {
      if (is_wrong_null(element, *type.element) && type.element->default_value) {
        element = *type.element->default_value;
      }
      apply_defaults(element, *type.element);
    }
  }
}

} // namespace berth::schema
