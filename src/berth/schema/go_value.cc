#include "berth/schema/go_value.h"

#include "berth/schema/scalar.h"

namespace berth::schema {
namespace {

namespace json = boost::json;

/// With its package: "v1.PodSpec".
std::string_view package_name(const Type& type) {
  const std::string_view name = type.name;
  const std::size_t last = name.rfind('.');
  const std::size_t before = last == std::string_view::npos ? last : name.rfind('.', last - 1);
  return before == std::string_view::npos ? name : name.substr(before + 1);
}

} // namespace

std::string_view short_name(const Type& type) {
  return std::string_view(type.name).substr(type.name.rfind('.') + 1);
}

bool is_empty(const json::value& value) {
  switch (value.kind()) {
  case json::kind::null:
    return true;
  case json::kind::bool_:
    return !value.get_bool();
  case json::kind::int64:
    return value.get_int64() == 0;
  case json::kind::uint64:
    return value.get_uint64() == 0;
  case json::kind::double_:
    return value.get_double() == 0;
  case json::kind::string:
    return value.get_string().empty();
  case json::kind::array:
    return value.get_array().empty();
  case json::kind::object:
    return value.get_object().empty();
  }
  return false;
}

void write_absent(json::object& out, const Type& type) {
  if (type.structural) {
    return;
  }
  for (const Field& field : type.fields) {
    if ((field.when_empty == WhenEmpty::Zero || field.when_empty == WhenEmpty::Null) &&
        !out.contains(field.name)) {
      out[field.name] =
          field.when_empty == WhenEmpty::Zero ? zero_of(*field.type) : json::value(nullptr);
    }
  }
}

json::value zero_of(const Type& type) {
  switch (type.form) {
  case Form::Boolean:
    return false;
  case Form::Integer:
  case Form::Number:
  case Form::IntOrString:
    return 0;
  case Form::Quantity:
    return json::value("0");
  case Form::String:
    return is_time(type) ? json::value(nullptr) : json::value("");
  case Form::Struct: {
    json::object out;
    write_absent(out, type);
    return out;
  }
  case Form::Any:
  case Form::Map:
  case Form::List:
    break;
  }
  return nullptr;
}

std::string go_type_name(const Type& type) {
  if (!type.go_type.empty()) {
    return type.go_type;
  }
  switch (type.form) {
  case Form::Boolean:
    return "bool";
  case Form::Integer:
    return type.format;
  case Form::Number:
    return "float64";
  case Form::String:
    return is_time(type) ? std::string(package_name(type))
                         : std::string(type.format == "byte" ? "[]uint8" : "string");
  case Form::List:
    return "[]" + go_type_name(*type.element);
  case Form::Map:
    return "map[string]" + go_type_name(*type.element);
  case Form::Any:
  case Form::IntOrString:
  case Form::Quantity:
  case Form::Struct:
    break;
  }
  return type.name.empty() ? "interface {}" : std::string(package_name(type));
}

} // namespace berth::schema
