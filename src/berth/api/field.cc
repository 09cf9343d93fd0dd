#include "berth/api/field.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/api/quantity.h"

namespace berth::api {
namespace {

std::string_view type_name(const json::value& value) {
  switch (value.kind()) {
  case json::kind::null:
    return "null";
  case json::kind::bool_:
    return "a boolean";
  case json::kind::int64:
  case json::kind::uint64:
  case json::kind::double_:
    return "a number";
  case json::kind::string:
    return "a string";
  case json::kind::array:
    return "a list";
  case json::kind::object:
    return "a map";
  }
  return "nothing";
}

bool is_scalar(const json::value& value) {
  return value.is_string() || value.is_bool() || value.is_number();
}

/// A map key as one step of a path: "labels[app.kubernetes.io/name]" keeps dots unambiguous.
std::string step(std::string_view name, bool first) {
  if (name.find_first_of(".[]/") != std::string_view::npos || name.empty()) {
    return fmt::format("[{}]", name);
  }
  return first ? std::string(name) : fmt::format(".{}", name);
}

} // namespace

std::string Field::path() const {
  if (parent_ == nullptr) {
    return {};
  }
  std::string out = parent_->path();
  out += name_.data() == nullptr ? fmt::format("[{}]", index_) : step(name_, out.empty());
  return out;
}

void Field::fail(std::string message) const {
  if (!failed()) {
    *failure_ = Error{.code = Code::Invalid,
                      .message = std::move(message),
                      .where = Where{.file = {}, .line = 0, .column = 0, .field = path()},
                      .causes = {}};
  }
}

void Field::fail_member(std::string_view name, std::string message) const {
  static const json::value kAbsent;
  Field(this, name, 0, kAbsent).fail(std::move(message));
}

void Field::expected(std::string_view wanted) const {
  std::string text = is_scalar(*value_) ? to_json(*value_) : std::string();
  if (text.size() > 60) {
    text.clear();
  }
  fail(fmt::format("expected {}, got {}{}{}", wanted, type_name(*value_), text.empty() ? "" : ": ",
                   text));
}

const json::array* Field::as_array() const {
  const json::array* array = value_->if_array();
  if (array == nullptr && !is_null()) {
    expected("a list");
  }
  return array;
}

const json::object* Field::as_object() const {
  const json::object* object = value_->if_object();
  if (object == nullptr && !is_null()) {
    expected("a map");
  }
  return object;
}

const json::value* Field::find(std::string_view name) const {
  if (failed()) {
    return nullptr;
  }
  const json::object* object = as_object();
  if (object == nullptr) {
    return nullptr;
  }
  const auto it = object->find(json::string_view(name.data(), name.size()));
  return it == object->end() || it->value().is_null() ? nullptr : &it->value();
}

void decode(const Field& in, std::string& out) {
  const json::string* text = in.value().if_string();
  if (text == nullptr) {
    return in.expected("a string");
  }
  out.assign(text->data(), text->size());
}

void decode(const Field& in, bool& out) {
  const bool* flag = in.value().if_bool();
  if (flag == nullptr) {
    return in.expected("true or false");
  }
  out = *flag;
}

void decode(const Field& in, std::int64_t& out) {
  const json::value& value = in.value();
  if (const std::int64_t* integer = value.if_int64()) {
    out = *integer;
    return;
  }
  if (value.is_uint64()) {
    return in.fail(fmt::format("number out of range: {}", value.get_uint64()));
  }
  // YAML's 1e3 reaches Kubernetes as 1000; exact integers are taken.
  const double* number = value.if_double();
  if (number == nullptr || std::trunc(*number) != *number || std::abs(*number) >= 9.2e18) {
    return in.expected("an integer");
  }
  out = static_cast<std::int64_t>(*number);
}

void decode(const Field& in, int& out) {
  std::int64_t wide = 0;
  decode(in, wide);
  if (wide < std::numeric_limits<std::int32_t>::min() ||
      wide > std::numeric_limits<std::int32_t>::max()) {
    return in.fail(fmt::format("number does not fit 32 bits: {}", wide));
  }
  if (!in.failed()) {
    out = static_cast<int>(wide);
  }
}

void decode(const Field& in, TimePoint& out) {
  const json::string* text = in.value().if_string();
  if (text == nullptr) {
    return in.expected("a time such as \"2026-01-02T03:04:05Z\"");
  }
  const auto time = parse_rfc3339(std::string_view(text->data(), text->size()));
  if (!time) {
    return in.fail(time.error().message);
  }
  out = *time;
}

void decode(const Field& in, Quantity& out) {
  const json::value& value = in.value();
  if (!value.is_string() && !value.is_number()) {
    return in.expected("a quantity such as \"500m\", \"2Gi\" or 8");
  }
  const std::string text = value.is_string() ? std::string(value.get_string()) : to_json(value);
  const auto quantity = Quantity::parse(text);
  if (!quantity) {
    return in.fail(quantity.error().message);
  }
  out = *quantity;
}

void decode(const Field& in, json::value& out) {
  out = in.value();
}

} // namespace berth::api
