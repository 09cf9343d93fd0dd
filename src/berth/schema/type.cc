#include "berth/schema/type.h"

#include <algorithm>

namespace berth::schema {

std::string_view json_name(Form form) {
  switch (form) {
  case Form::Boolean:
    return "boolean";
  case Form::Integer:
    return "integer";
  case Form::Number:
    return "number";
  case Form::String:
    return "string";
  case Form::Struct:
  case Form::Map:
    return "object";
  case Form::List:
    return "array";
  case Form::Any:
  case Form::IntOrString:
  case Form::Quantity:
    break;
  }
  return "";
}

const Field* Type::field(std::string_view field_name) const {
  const auto at = std::ranges::lower_bound(fields, field_name, {}, &Field::name);
  return at != fields.end() && at->name == field_name ? &*at : nullptr;
}

} // namespace berth::schema
