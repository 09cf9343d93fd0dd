#include "berth/hardware/fields.h"

#include <algorithm>
#include <cctype>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <fmt/format.h>

namespace berth::hardware {

namespace {

namespace json = api::json;

std::string_view word_for(json::kind kind) {
  switch (kind) {
  case json::kind::null:
    return "nothing";
  case json::kind::bool_:
    return "a boolean";
  case json::kind::int64:
  case json::kind::uint64:
    return "an integer";
  case json::kind::double_:
    return "a fraction";
  case json::kind::string:
    return "a string";
  case json::kind::array:
    return "a sequence";
  case json::kind::object:
    return "a mapping";
  }
  return "something else";
}

std::string expected(std::string_view what, const json::value& found) {
  return fmt::format("expected {}, found {}", what, word_for(found.kind()));
}

} // namespace

std::string field_path(std::string_view pointer) {
  std::string path;
  while (!pointer.empty()) {
    pointer.remove_prefix(1);
    const auto end = std::min(pointer.find('/'), pointer.size());
    const auto part = pointer.substr(0, end);
    pointer.remove_prefix(end);
    const bool index = !part.empty() && std::ranges::all_of(part, [](unsigned char c) {
      return std::isdigit(c) != 0;
    });
    if (index) {
      path += fmt::format("[{}]", part);
    } else {
      path += (path.empty() ? "" : ".") + std::string(part);
    }
  }
  return path;
}

void DocumentReading::report(const std::string& pointer, std::string message) {
  const auto position = document.positions.find(pointer);
  errors.push_back({.code = Code::Invalid,
                    .message = std::move(message),
                    .where = Where{.file = file,
                                   .line = position.line,
                                   .column = position.column,
                                   .field = field_path(pointer)},
                    .causes = {}});
}

Fields::Fields(DocumentReading& reading, const json::value& value, std::string pointer)
    : reading_(&reading), object_(value.if_object()), pointer_(std::move(pointer)) {
  if (object_ == nullptr) {
    reading_->report(pointer_, expected("a mapping", value));
  }
}

std::string Fields::at(std::string_view key) const {
  return fmt::format("{}/{}", pointer_, key);
}

bool Fields::has(std::string_view key) const {
  return object_ != nullptr && object_->contains(key);
}

const json::value* Fields::take(std::string_view key) {
  taken_.emplace(key);
  if (object_ == nullptr) {
    return nullptr;
  }
  const auto* value = object_->if_contains(key);
  if (value == nullptr) {
    reading_->report(pointer_, fmt::format("required field is missing: {}", key));
  }
  return value;
}

std::string Fields::text(std::string_view key) {
  const auto* value = take(key);
  if (value == nullptr) {
    return {};
  }
  if (!value->is_string() || value->get_string().empty()) {
    reading_->report(at(key), expected("a non-empty string", *value));
    return {};
  }
  return std::string(value->get_string());
}

int Fields::checked(const json::value& value, const std::string& pointer, Range range) {
  if (!value.is_int64()) {
    reading_->report(
        pointer, expected(fmt::format("an integer from {} to {}", range.low, range.high), value));
    return 0;
  }
  const auto number = value.get_int64();
  if (number < range.low || number > range.high) {
    reading_->report(pointer,
                     fmt::format("must be from {} to {}: {}", range.low, range.high, number));
    return 0;
  }
  return static_cast<int>(number);
}

int Fields::number(std::string_view key, Range range) {
  const auto* value = take(key);
  return value == nullptr ? 0 : checked(*value, at(key), range);
}

int Fields::number_or(std::string_view key, Range range, int absent) {
  taken_.emplace(key);
  return has(key) ? number(key, range) : absent;
}

bool Fields::flag(std::string_view key) {
  const auto* value = take(key);
  if (value == nullptr) {
    return false;
  }
  if (!value->is_bool()) {
    reading_->report(at(key), expected("true or false", *value));
    return false;
  }
  return value->get_bool();
}

std::vector<std::string> Fields::texts(std::string_view key) {
  std::vector<std::string> result;
  const auto* value = take(key);
  if (value == nullptr) {
    return result;
  }
  if (!value->is_array()) {
    reading_->report(at(key), expected("a sequence", *value));
    return result;
  }
  for (std::size_t i = 0; i < value->get_array().size(); ++i) {
    const auto& item = value->get_array()[i];
    if (!item.is_string()) {
      reading_->report(fmt::format("{}/{}", at(key), i), expected("a string", item));
      continue;
    }
    result.emplace_back(item.get_string());
  }
  return result;
}

std::vector<int> Fields::numbers(std::string_view key, std::size_t count, Range range) {
  std::vector<int> result(count, 0);
  const auto* value = take(key);
  if (value == nullptr) {
    return result;
  }
  if (!value->is_array() || value->get_array().size() != count) {
    reading_->report(at(key), fmt::format("expected a sequence of {} integers", count));
    return result;
  }
  for (std::size_t i = 0; i < count; ++i) {
    result[i] = checked(value->get_array()[i], fmt::format("{}/{}", at(key), i), range);
  }
  return result;
}

void Fields::mapping(std::string_view key, const std::function<void(Fields&)>& read) {
  if (const auto* value = take(key)) {
    Fields inner(*reading_, *value, at(key));
    if (inner.object_ != nullptr) {
      read(inner);
      inner.finish();
    }
  }
}

void Fields::each(std::string_view key, const std::function<void(Fields&)>& read) {
  const auto* value = take(key);
  if (value == nullptr) {
    return;
  }
  if (!value->is_array()) {
    reading_->report(at(key), expected("a sequence", *value));
    return;
  }
  for (std::size_t i = 0; i < value->get_array().size(); ++i) {
    Fields item(*reading_, value->get_array()[i], fmt::format("{}/{}", at(key), i));
    if (item.object_ != nullptr) {
      read(item);
      item.finish();
    }
  }
}

void Fields::finish() {
  if (object_ == nullptr) {
    return;
  }
  for (const auto& member : *object_) {
    if (!taken_.contains(std::string_view(member.key()))) {
      reading_->report(at(member.key()),
                       fmt::format("unknown field: {}", std::string_view(member.key())));
    }
  }
}

} // namespace berth::hardware
