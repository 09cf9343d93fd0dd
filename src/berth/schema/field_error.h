// What is wrong with one field of an object, as apimachinery's field.Error says it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <boost/json/value.hpp>

namespace berth::schema {

struct FieldError {
  std::string reason;  ///< of the Status' cause: "FieldValueInvalid", "FieldValueTypeInvalid", ...
  std::string field;   ///< "spec.replicas"; "<nil>" for the object as a whole
  std::string message; ///< "Invalid value: 5: spec.replicas in body should be ..."

  bool operator==(const FieldError&) const = default;
};

/// "spec.replicas: Invalid value: ...".
std::string to_string(const FieldError& error);

using FieldErrors = std::vector<FieldError>;

FieldError required_value(std::string field, std::string_view detail = "");
FieldError invalid_value(std::string field, const boost::json::value& value,
                         std::string_view detail);
FieldError type_invalid(std::string field, const boost::json::value& value,
                        std::string_view detail);
FieldError not_supported(std::string field, const boost::json::value& value,
                         const std::vector<std::string>& supported);
FieldError duplicate_value(std::string field, const boost::json::value& value);
FieldError forbidden_value(std::string field, std::string_view detail);
FieldError too_long(std::string field, std::int64_t most);
FieldError too_many(std::string field, std::int64_t actual, std::int64_t most);

} // namespace berth::schema
