#include "berth/schema/input.h"

#include <charconv>
#include <cstdint>

#include "berth/api/json.h"
#include "berth/api/utf8.h"

namespace berth::schema {
namespace {

void append_code_point(std::string& out, std::uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | (code >> 6));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | (code >> 12));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    out += static_cast<char>(0xf0 | (code >> 18));
    out += static_cast<char>(0x80 | ((code >> 12) & 0x3f));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  }
}

std::uint32_t hex4(std::string_view digits) {
  std::uint32_t out = 0;
  std::from_chars(digits.data(), digits.data() + 4, out, 16);
  return out;
}

/// The four digits of a \u escape have been found at the front; how much of `rest` they and a
/// second half of a surrogate pair take.
std::size_t append_unicode(std::string& out, std::string_view rest) {
  const std::uint32_t first = hex4(rest);
  if (first < 0xd800 || first > 0xdfff) {
    append_code_point(out, first);
    return 4;
  }
  if (first < 0xdc00 && rest.size() >= 10 && rest[4] == '\\' && rest[5] == 'u') {
    const std::uint32_t second = hex4(rest.substr(6));
    if (second >= 0xdc00 && second <= 0xdfff) {
      append_code_point(out, 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00));
      return 10;
    }
  }
  out += api::kReplacementCharacter;
  return 4;
}

/// As Go reads strings: what is no UTF-8 becomes U+FFFD.
std::string unquoted(std::string_view raw) {
  std::string out;
  out.reserve(raw.size());
  while (!raw.empty()) {
    if (raw[0] == '\\') {
      const char c = raw[1];
      raw.remove_prefix(2);
      if (c == 'u') {
        raw.remove_prefix(append_unicode(out, raw));
      } else {
        constexpr std::string_view kFrom = "bfnrt";
        constexpr std::string_view kTo = "\b\f\n\r\t";
        const std::size_t at = kFrom.find(c);
        out += at == std::string_view::npos ? c : kTo[at];
      }
      continue;
    }
    const std::size_t length = api::utf8_length(raw);
    out += length == 0 ? api::kReplacementCharacter : raw.substr(0, length);
    raw.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

JsonKind kind_of(json::kind kind) {
  switch (kind) {
  case json::kind::object:
    return JsonKind::Object;
  case json::kind::array:
    return JsonKind::Array;
  case json::kind::string:
    return JsonKind::String;
  case json::kind::bool_:
    return JsonKind::Boolean;
  case json::kind::null:
    return JsonKind::Null;
  case json::kind::int64:
  case json::kind::uint64:
  case json::kind::double_:
    return JsonKind::Number;
  }
  return JsonKind::Null;
}

} // namespace

std::string_view to_string(JsonKind kind) {
  switch (kind) {
  case JsonKind::Object:
    return "object";
  case JsonKind::Array:
    return "array";
  case JsonKind::String:
    return "string";
  case JsonKind::Number:
    return "number";
  case JsonKind::Boolean:
    return "bool";
  case JsonKind::Null:
    return "null";
  }
  return "";
}

json::value number_value(std::string_view text) {
  const char* const end = text.data() + text.size();
  if (text.find_first_of(".eE") == std::string_view::npos) {
    std::int64_t integer = 0;
    if (const auto [at, ec] = std::from_chars(text.data(), end, integer);
        ec == std::errc() && at == end) {
      return integer;
    }
    std::uint64_t natural = 0;
    if (const auto [at, ec] = std::from_chars(text.data(), end, natural);
        ec == std::errc() && at == end) {
      return natural;
    }
  }
  double number = 0;
  std::from_chars(text.data(), end, number);
  return number;
}

JsonKind TextInput::kind() const {
  switch (*at_) {
  case '{':
    return JsonKind::Object;
  case '[':
    return JsonKind::Array;
  case '"':
    return JsonKind::String;
  case 't':
  case 'f':
    return JsonKind::Boolean;
  case 'n':
    return JsonKind::Null;
  default:
    return JsonKind::Number;
  }
}

void TextInput::blanks() {
  while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r')) {
    ++at_;
  }
}

void TextInput::enter() {
  ++at_;
  blanks();
}

void TextInput::after_element() {
  if (*at_ == ',') {
    ++at_;
    blanks();
  }
}

void TextInput::leave() {
  ++at_;
  blanks();
}

std::string_view TextInput::raw_string() {
  const char* const begin = ++at_;
  while (*at_ != '"') {
    at_ += *at_ == '\\' ? 2 : 1;
  }
  const std::string_view raw(begin, static_cast<std::size_t>(at_ - begin));
  ++at_;
  blanks();
  return raw;
}

std::string TextInput::text() {
  return unquoted(raw_string());
}

std::string_view TextInput::number() {
  const char* const begin = at_;
  constexpr std::string_view kOfNumbers = "+-.eE0123456789";
  while (at_ != end_ && kOfNumbers.find(*at_) != std::string_view::npos) {
    ++at_;
  }
  const std::string_view out(begin, static_cast<std::size_t>(at_ - begin));
  blanks();
  return out;
}

bool TextInput::boolean() {
  const bool out = *at_ == 't';
  at_ += out ? 4 : 5;
  blanks();
  return out;
}

void TextInput::skip() {
  switch (kind()) {
  case JsonKind::Object:
    each_member([&](std::string_view) { skip(); });
    break;
  case JsonKind::Array:
    each_element([&] { skip(); });
    break;
  case JsonKind::String:
    raw_string();
    break;
  case JsonKind::Number:
    number();
    break;
  case JsonKind::Boolean:
    boolean();
    break;
  case JsonKind::Null:
    at_ += 4;
    blanks();
    break;
  }
}

json::value TextInput::any() {
  switch (kind()) {
  case JsonKind::Object: {
    json::object out;
    each_member([&](std::string_view key) { out[key] = any(); });
    return out;
  }
  case JsonKind::Array: {
    json::array out;
    each_element([&] { out.push_back(any()); });
    return out;
  }
  case JsonKind::String:
    return json::value(text());
  case JsonKind::Number:
    return number_value(number());
  case JsonKind::Boolean:
    return boolean();
  case JsonKind::Null:
    break;
  }
  skip();
  return nullptr;
}

JsonKind ValueInput::kind() const {
  return kind_of(value_->kind());
}

std::string_view ValueInput::number() {
  number_ = api::to_json(*value_);
  return number_;
}

} // namespace berth::schema
