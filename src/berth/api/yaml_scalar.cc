#include "berth/api/yaml_scalar.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/api/utf8.h"

namespace berth::api {
namespace {

namespace json = boost::json;

constexpr std::array<std::string_view, 11> kTrue = {"y",    "Y",    "yes", "Yes", "YES", "true",
                                                    "True", "TRUE", "on",  "On",  "ON"};
constexpr std::array<std::string_view, 11> kFalse = {"n",     "N",     "no",  "No",  "NO", "false",
                                                     "False", "FALSE", "off", "Off", "OFF"};
constexpr std::array<std::string_view, 5> kNull = {"", "~", "null", "Null", "NULL"};
constexpr std::array<std::string_view, 12> kNoNumber = {".nan",  ".NaN",  ".NAN",  ".inf",
                                                        ".Inf",  ".INF",  "+.inf", "+.Inf",
                                                        "+.INF", "-.inf", "-.Inf", "-.INF"};

template <std::size_t N>
bool among(const std::array<std::string_view, N>& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

struct Based {
  std::string_view digits;
  int base;
};

/// Go's strconv with base 0: 0x, 0o, 0b or a leading 0 for octal.
Based split_base(std::string_view text) {
  if (text.size() < 2 || text[0] != '0') {
    return {text, 10};
  }
  if (text.size() > 2) {
    switch (text[1]) {
    case 'x':
    case 'X':
      return {text.substr(2), 16};
    case 'o':
    case 'O':
      return {text.substr(2), 8};
    case 'b':
    case 'B':
      return {text.substr(2), 2};
    default:
      break;
    }
  }
  return {text.substr(1), 8};
}

std::optional<json::value> parse_integer(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) {
    text.remove_prefix(1);
  }
  const Based number = split_base(text);
  std::uint64_t magnitude = 0;
  const char* end = number.digits.data() + number.digits.size();
  const auto [stop, ec] = std::from_chars(number.digits.data(), end, magnitude, number.base);
  if (ec != std::errc() || stop != end) {
    return std::nullopt;
  }
  constexpr std::uint64_t kTop = 1ULL << 63U;
  if (!negative) {
    return magnitude < kTop ? json::value(static_cast<std::int64_t>(magnitude))
                            : json::value(magnitude);
  }
  return magnitude <= kTop ? std::optional(json::value(static_cast<std::int64_t>(0 - magnitude)))
                           : std::nullopt;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// [-+]? ( .digits | digits [. digits*] ) ( [eE] [-+]? digits )?
bool looks_like_float(std::string_view text) {
  std::size_t at = text.starts_with('-') || text.starts_with('+') ? 1 : 0;
  const auto digits = [&] {
    const std::size_t from = at;
    while (at < text.size() && is_digit(text[at])) {
      ++at;
    }
    return at - from;
  };
  const std::size_t whole = digits();
  std::size_t fraction = 0;
  if (at < text.size() && text[at] == '.') {
    ++at;
    fraction = digits();
  }
  if (whole == 0 && fraction == 0) {
    return false;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    at += at < text.size() && (text[at] == '-' || text[at] == '+') ? 1 : 0;
    if (digits() == 0) {
      return false;
    }
  }
  return at == text.size();
}

std::optional<json::value> parse_float(std::string_view text) {
  if (!looks_like_float(text)) {
    return std::nullopt;
  }
  text.remove_prefix(text[0] == '+' ? 1 : 0);
  double value = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (ec == std::errc::result_out_of_range) {
    // Too small is zero; too large stays text, as strconv.ParseFloat has it.
    const std::size_t e = text.find_first_of("eE");
    if (e == std::string_view::npos || text[e + 1] != '-') {
      return std::nullopt;
    }
    value = 0;
  }
  if (std::trunc(value) == value && std::abs(value) < 9.2e18) {
    return json::value(static_cast<std::int64_t>(value));
  }
  return json::value(value);
}

std::optional<json::value> parse_number(std::string_view text) {
  if (text.find('_') == std::string_view::npos) {
    auto integer = parse_integer(text);
    return integer ? integer : parse_float(text);
  }
  std::string plain(text);
  std::erase(plain, '_');
  return parse_number(plain);
}

std::optional<std::string> decode_base64(std::string_view text) {
  std::string out;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    static constexpr std::string_view kAlphabet =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    if (c == '=' || c == '\n' || c == ' ') {
      continue;
    }
    const std::size_t value = kAlphabet.find(c);
    if (value == std::string_view::npos) {
      return std::nullopt;
    }
    bits = (bits << 6U) | static_cast<std::uint32_t>(value);
    count += 6;
    if (count >= 8) {
      count -= 8;
      out += static_cast<char>((bits >> static_cast<unsigned>(count)) & 0xFFU);
    }
  }
  return out;
}

json::value string_value(std::string_view text) {
  return json::value(json::string_view(text.data(), text.size()));
}

} // namespace

Result<json::value> resolve_plain_scalar(std::string_view text) {
  if (text.empty()) {
    return json::value(nullptr);
  }
  // The first character rules most strings out, as in go-yaml's table of hints.
  static constexpr std::string_view kWordStarts = "yYnNtTfFoO~.+-";
  const char first = text[0];
  if (kWordStarts.find(first) != std::string_view::npos && text.size() <= 5) {
    if (among(kTrue, text)) {
      return json::value(true);
    }
    if (among(kFalse, text)) {
      return json::value(false);
    }
    if (among(kNull, text)) {
      return json::value(nullptr);
    }
    if (among(kNoNumber, text)) {
      return fail(Code::Invalid, fmt::format("json has no such number: {}", text));
    }
  }
  if (is_digit(first) || first == '+' || first == '-' || first == '.') {
    if (auto number = parse_number(text)) {
      return *std::move(number);
    }
  }
  return string_value(text);
}

Result<json::value> resolve_tagged_scalar(std::string_view tag, std::string_view text) {
  static constexpr std::string_view kPrefix = "tag:yaml.org,2002:";
  if (!tag.starts_with(kPrefix)) {
    return string_value(text);
  }
  const std::string_view name = tag.substr(kPrefix.size());
  if (name == "binary") {
    const auto bytes = decode_base64(text);
    if (!bytes) {
      return fail(Code::Invalid, "!!binary holds no base64");
    }
    for (std::string_view rest = *bytes; !rest.empty();) {
      const std::size_t length = utf8_length(rest);
      if (length == 0) {
        return fail(Code::Invalid, "!!binary holds bytes that are no text");
      }
      rest.remove_prefix(length);
    }
    return string_value(*bytes);
  }
  if (name != "int" && name != "float" && name != "bool" && name != "null") {
    return string_value(text);
  }
  BERTH_TRY(json::value value, resolve_plain_scalar(text));
  const bool fits = (name == "null" && value.is_null()) || (name == "bool" && value.is_bool()) ||
                    (name == "int" && (value.is_int64() || value.is_uint64())) ||
                    (name == "float" && value.is_number());
  if (!fits) {
    return fail(Code::Invalid, fmt::format("not of type !!{}: {}", name, text.substr(0, 60)));
  }
  return value;
}

} // namespace berth::api
