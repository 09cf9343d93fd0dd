#include "berth/schema/field_error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/api/json.h"

namespace berth::schema {
namespace {

namespace json = boost::json;

std::string with_detail(std::string_view what, std::string_view detail) {
  return detail.empty() ? std::string(what) : fmt::format("{}: {}", what, detail);
}

} // namespace

std::string to_string(const FieldError& error) {
  return fmt::format("{}: {}", error.field, error.message);
}

FieldError required_value(std::string field, std::string_view detail) {
  return {"FieldValueRequired", std::move(field), with_detail("Required value", detail)};
}

FieldError invalid_value(std::string field, const json::value& value, std::string_view detail) {
  return {"FieldValueInvalid", std::move(field),
          with_detail("Invalid value: " + api::to_json(value), detail)};
}

FieldError type_invalid(std::string field, const json::value& value, std::string_view detail) {
  return {"FieldValueTypeInvalid", std::move(field),
          with_detail("Invalid value: " + api::to_json(value), detail)};
}

FieldError not_supported(std::string field, const json::value& value,
                         const std::vector<std::string>& supported) {
  std::vector<std::string> quoted;
  for (const std::string& text : supported) {
    quoted.push_back(api::to_json(json::value(text)));
  }
  return {"FieldValueNotSupported", std::move(field),
          fmt::format("Unsupported value: {}: supported values: {}", api::to_json(value),
                      fmt::join(quoted, ", "))};
}

FieldError duplicate_value(std::string field, const json::value& value) {
  return {"FieldValueDuplicate", std::move(field), "Duplicate value: " + api::to_json(value)};
}

FieldError forbidden_value(std::string field, std::string_view detail) {
  return {"FieldValueForbidden", std::move(field), with_detail("Forbidden", detail)};
}

FieldError too_long(std::string field, std::int64_t most) {
  return {"FieldValueTooLong", std::move(field),
          fmt::format("Too long: may not be more than {} bytes", most)};
}

FieldError too_many(std::string field, std::int64_t actual, std::int64_t most) {
  return {"FieldValueTooMany", std::move(field),
          fmt::format("Too many: {}: must have at most {} items", actual, most)};
}

} // namespace berth::schema
