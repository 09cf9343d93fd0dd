#include "berth/schema/scalar.h"

#include <array>
#include <optional>

#include <fmt/format.h>

#include "berth/api/quantity.h"
#include "berth/base/time.h"

namespace berth::schema {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_micro_time(const Type& type) {
  return type.name.ends_with(".MicroTime");
}

/// Why ParseQuantity refuses a text that is none.
std::string_view quantity_error(std::string_view text) {
  constexpr std::string_view kFormat = "quantities must match the regular expression "
                                       "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
  std::size_t at = 0;
  const auto skip = [&](auto&& wanted) {
    while (at < text.size() && wanted(text[at])) {
      ++at;
    }
  };
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    ++at;
  }
  const std::size_t digits = at;
  skip(is_digit);
  if (at < text.size() && text[at] == '.') {
    ++at;
    skip(is_digit);
  }
  const bool numeric = at > digits && text.substr(digits, at - digits) != ".";
  const std::size_t suffix = at;
  skip([](char c) { return std::string_view("eEinumkKMGTP").find(c) != std::string_view::npos; });
  const std::size_t letters = at;
  if (at < text.size() && (text[at] == '-' || text[at] == '+')) {
    ++at;
  }
  skip(is_digit);
  if (text.empty() || at != text.size() || (letters == suffix && !numeric)) {
    return kFormat;
  }
  return numeric ? "unable to parse quantity's suffix" : "unable to parse numeric part of quantity";
}

/// The element of the layout at which Go's time.Parse gives up, and what was left of the text then.
struct TimeMismatch {
  std::string_view element;
  std::string_view rest;
};

std::optional<TimeMismatch> time_mismatch(std::string_view text) {
  constexpr std::array kElements = {"2006", "-", "01", "-", "02", "T", "15", ":", "04", ":", "05"};
  std::string_view rest = text;
  for (const std::string_view element : kElements) {
    if (!is_digit(element[0])) {
      if (!rest.starts_with(element)) {
        return TimeMismatch{element, rest};
      }
      rest.remove_prefix(1);
      continue;
    }
    for (std::size_t i = 0; i < element.size(); ++i) {
      if (i >= rest.size() || !is_digit(rest[i])) {
        return TimeMismatch{element, rest};
      }
    }
    rest.remove_prefix(element.size());
  }
  if (rest.size() > 1 && (rest[0] == '.' || rest[0] == ',') && is_digit(rest[1])) {
    rest.remove_prefix(1);
    while (!rest.empty() && is_digit(rest[0])) {
      rest.remove_prefix(1);
    }
  }
  const bool zone = rest == "Z" ||
                    (rest.size() == 6 && (rest[0] == '+' || rest[0] == '-') && is_digit(rest[1]) &&
                     is_digit(rest[2]) && rest[3] == ':' && is_digit(rest[4]) && is_digit(rest[5]));
  return zone ? std::nullopt : std::optional(TimeMismatch{"Z07:00", rest});
}

/// A text whose digits stand where they should, but whose month or hour there is not.
std::string_view out_of_range(std::string_view text) {
  const auto number = [&](std::size_t from) {
    return (text[from] - '0') * 10 + (text[from + 1] - '0');
  };
  if (number(5) < 1 || number(5) > 12) {
    return "month";
  }
  if (number(11) > 23) {
    return "hour";
  }
  if (number(14) > 59) {
    return "minute";
  }
  return number(17) > 59 ? "second" : "day";
}

} // namespace

bool is_time(const Type& type) {
  return type.form == Form::String && type.format == "date-time" && !type.structural;
}

Result<std::string> canonical_quantity(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t' || text.front() == '\n')) {
    text.remove_prefix(1);
  }
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\n')) {
    text.remove_suffix(1);
  }
  const auto parsed = api::Quantity::parse(text);
  if (!parsed) {
    return fail(Code::BadRequest, std::string(quantity_error(text)));
  }
  return parsed->to_string();
}

Result<std::string> canonical_time(const Type& type, std::string_view text) {
  const auto parsed = parse_rfc3339(text);
  const auto mismatch = time_mismatch(text);
  if (parsed && !mismatch) {
    return is_micro_time(type) ? to_rfc3339_micro(*parsed) : to_rfc3339(*parsed);
  }
  const std::string start =
      fmt::format("parsing time \"{}\"{}", text,
                  mismatch ? fmt::format(" as \"2006-01-02T15:04:05{}Z07:00\"",
                                         is_micro_time(type) ? ".000000" : "")
                           : "");
  return fail(Code::BadRequest,
              mismatch ? fmt::format("{}: cannot parse \"{}\" as \"{}\"", start, mismatch->rest,
                                     mismatch->element)
                       : fmt::format("{}: {} out of range", start, out_of_range(text)));
}

Result<void> check_base64(std::string_view text) {
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const auto bad = [](std::size_t at) {
    return fail(Code::BadRequest, fmt::format("illegal base64 data at input byte {}", at));
  };
  std::size_t in_group = 0;
  std::size_t padding = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '\n' || c == '\r') {
      continue;
    }
    if (c == '=') {
      if (in_group < 2 || padding == 2) {
        return bad(at);
      }
      ++padding;
    } else if (padding > 0 || kAlphabet.find(c) == std::string_view::npos) {
      return bad(at);
    }
    in_group = padding > 0 && in_group + 1 == 4 ? 4 : (in_group + 1) % 4;
    if (in_group == 4 && at + 1 < text.size() &&
        text.find_first_not_of("\r\n", at + 1) != std::string_view::npos) {
      return bad(text.find_first_not_of("\r\n", at + 1));
    }
  }
  return in_group == 0 || in_group == 4 ? Result<void>{} : bad(text.size());
}

} // namespace berth::schema
