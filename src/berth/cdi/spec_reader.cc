#include "berth/cdi/spec_reader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>

namespace berth::cdi {
namespace {

/// Go's strconv.FormatFloat(number, 'g', -1, 64).
std::string float_text(double number) {
  std::array<char, 32> text{};
  const auto written =
      std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::scientific);
  const std::string scientific(text.data(), written.ptr);
  const int exponent = std::stoi(scientific.substr(scientific.find('e') + 1));
  if (exponent < -4 || exponent >= 6) {
    return scientific;
  }
  const auto plain =
      std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  return {text.data(), plain.ptr};
}

/// Nothing where it is no text, and does not become one.
std::optional<std::string> text_of(const json::value& value, Scalars scalars) {
  if (const json::string* text = value.if_string()) {
    return std::string(*text);
  }
  if (scalars == Scalars::Strict) {
    return std::nullopt;
  }
  switch (value.kind()) {
  case json::kind::bool_:
    return value.get_bool() ? "true" : "false";
  case json::kind::int64:
    return fmt::to_string(value.get_int64());
  case json::kind::uint64:
    return fmt::to_string(value.get_uint64());
  case json::kind::double_:
    return float_text(value.get_double());
  default:
    return std::nullopt;
  }
}

} // namespace

StrictReader::StrictReader(const json::value& object, std::string_view file, std::string path,
                           Scalars scalars)
    : object_(object.if_object()), file_(file), path_(std::move(path)), scalars_(scalars) {
  if (!object_) {
    complain(path_, "must be an object");
  }
}

std::string StrictReader::field(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

void StrictReader::complain(std::string field_path, std::string message) {
  if (!error_) {
    error_ = Error{.code = Code::Invalid,
                   .message = std::move(message),
                   .where = Where{.file = file_, .field = std::move(field_path)},
                   .causes = {}};
  }
}

const json::value* StrictReader::take(std::string_view key) {
  asked_.emplace_back(key);
  const json::value* member = object_ ? object_->if_contains(key) : nullptr;
  return member && !member->is_null() ? member : nullptr;
}

const json::array* StrictReader::take_array(std::string_view key) {
  const json::value* member = take(key);
  if (member && !member->is_array()) {
    complain(field(key), "must be a list");
  }
  return member ? member->if_array() : nullptr;
}

void StrictReader::text(std::string_view key, std::string& out) {
  if (const json::value* member = take(key)) {
    if (auto found = text_of(*member, scalars_)) {
      out = *std::move(found);
    } else {
      complain(field(key), "must be a string");
    }
  }
}

void StrictReader::flag(std::string_view key, bool& out) {
  if (const json::value* member = take(key)) {
    if (const bool* found = member->if_bool()) {
      out = *found;
    } else {
      complain(field(key), "must be true or false");
    }
  }
}

void StrictReader::texts(std::string_view key, std::vector<std::string>& out) {
  if (const json::array* items = take_array(key)) {
    for (const json::value& item : *items) {
      if (auto found = text_of(item, scalars_)) {
        out.push_back(*std::move(found));
      } else {
        complain(field(key), "must be a list of strings");
      }
    }
  }
}

void StrictReader::labels(std::string_view key, api::Labels& out) {
  const json::value* member = take(key);
  if (!member) {
    return;
  }
  const json::object* found = member->if_object();
  if (!found) {
    complain(field(key), "must be an object of strings");
    return;
  }
  for (const auto& [name, value] : *found) {
    if (auto text_value = text_of(value, scalars_)) {
      out.insert_or_assign(std::string(name), *std::move(text_value));
    } else {
      complain(field(key), fmt::format("must be an object of strings, is not at \"{}\"",
                                       std::string_view(name)));
    }
  }
}

std::optional<std::int64_t> StrictReader::integer(const json::value& value, std::string_view key,
                                                  std::int64_t low, std::int64_t high) {
  boost::system::error_code error;
  const bool is_integer = value.is_int64() || value.is_uint64();
  const auto number = is_integer ? value.to_number<std::int64_t>(error) : 0;
  if (!is_integer || error || number < low || number > high) {
    complain(field(key), fmt::format("must be an integer from {} to {}", low, high));
    return std::nullopt;
  }
  return number;
}

void StrictReader::number(std::string_view key, std::optional<std::int64_t>& out) {
  if (const json::value* member = take(key)) {
    out = integer(*member, key, std::numeric_limits<std::int64_t>::min(),
                  std::numeric_limits<std::int64_t>::max());
  }
}

void StrictReader::number(std::string_view key, std::optional<std::uint32_t>& out) {
  if (const json::value* member = take(key)) {
    if (const auto found = integer(*member, key, 0, std::numeric_limits<std::uint32_t>::max())) {
      out = static_cast<std::uint32_t>(*found);
    }
  }
}

void StrictReader::numbers(std::string_view key, std::vector<std::uint32_t>& out) {
  if (const json::array* items = take_array(key)) {
    for (const json::value& item : *items) {
      if (const auto found = integer(item, key, 0, std::numeric_limits<std::uint32_t>::max())) {
        out.push_back(static_cast<std::uint32_t>(*found));
      }
    }
  }
}

Result<void> StrictReader::finish() {
  if (object_ && !error_) {
    for (const auto& [key, value] : *object_) {
      if (std::ranges::find(asked_, std::string_view(key)) == asked_.end()) {
        complain(field(key), "unknown field");
      }
    }
  }
  if (error_) {
    return tl::unexpected(*error_);
  }
  return {};
}

} // namespace berth::cdi
