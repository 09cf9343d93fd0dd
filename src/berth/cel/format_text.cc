#include "berth/cel/format_text.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "berth/cel/library.h"

namespace berth::cel {
namespace {

constexpr int kPrecision = 6;

/// Numbers of any type; nullopt: it is none.
std::optional<double> real(const Value& value) {
  if (const auto* given = value.get<double>()) {
    return *given;
  }
  if (const auto* whole = value.get<std::int64_t>()) {
    return static_cast<double>(*whole);
  }
  if (const auto* whole = value.get<std::uint64_t>()) {
    return static_cast<double>(*whole);
  }
  return std::nullopt;
}

Outcome text_of(const Value& value);

Outcome text_of_list(const List& list) {
  std::string out;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Outcome one = text_of(list.at(i));
    if (!one) {
      return one;
    }
    out += (i > 0 ? ", " : "") + *one->get<std::string>();
  }
  return Value("[" + out + "]");
}

/// In the order of the keys' texts.
Outcome text_of_map(const Map& map) {
  std::vector<std::string> entries;
  for (const Value& key : map.keys()) {
    const Outcome name = text_of(key);
    const Outcome value = text_of(*map.find(key));
    if (!name || !value) {
      return name ? value : name;
    }
    entries.push_back(*name->get<std::string>() + ": " + *value->get<std::string>());
  }
  std::ranges::sort(entries);
  std::string out;
  for (const std::string& entry : entries) {
    out += (out.empty() ? "" : ", ") + entry;
  }
  return Value("{" + out + "}");
}

Outcome text_of(const Value& value) {
  if (value.is<Null>()) {
    return Value("null");
  }
  if (const List* list = value.list()) {
    return text_of_list(*list);
  }
  if (const Map* map = value.map()) {
    return text_of_map(*map);
  }
  if (const auto* type = value.get<TypeRef>()) {
    return Value(to_string(**type));
  }
  const Outcome text = call("string", false, std::span(&value, 1));
  return text ? text : failure("could not convert argument to string: no such overload");
}

tl::unexpected<Failure> wrong(char verb, std::string_view wanted) {
  return failure(fmt::format("error during formatting: {} clause can only be used on {}",
                             verb == 'd'   ? "decimal"
                             : verb == 'o' ? "octal"
                             : verb == 'b' ? "binary"
                             : verb == 'f' ? "fixed-point"
                             : verb == 'e' ? "scientific notation"
                                           : "hex",
                             wanted));
}

template <class T> std::string whole(char verb, T value) {
  switch (verb) {
  case 'x':
    return fmt::format("{:x}", value);
  case 'X':
    return fmt::format("{:X}", value);
  case 'o':
    return fmt::format("{:o}", value);
  case 'b':
    return fmt::format("{:b}", value);
  default:
    return fmt::to_string(value);
  }
}

std::string hex(char verb, std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    out += verb == 'x' ? fmt::format("{:02x}", static_cast<unsigned char>(c))
                       : fmt::format("{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

Outcome integral(char verb, const Value& value) {
  if (const auto* given = value.get<std::int64_t>()) {
    return Value(whole(verb, *given));
  }
  if (const auto* given = value.get<std::uint64_t>()) {
    return Value(whole(verb, *given));
  }
  const bool is_hex = verb == 'x' || verb == 'X';
  if (const auto* text = value.get<std::string>(); text != nullptr && is_hex) {
    return Value(hex(verb, *text));
  }
  if (const auto* bytes = value.get<Bytes>(); bytes != nullptr && is_hex) {
    return Value(hex(verb, bytes->bytes));
  }
  if (const auto* truth = value.get<bool>(); truth != nullptr && verb == 'b') {
    return Value(*truth ? "1" : "0");
  }
  return wrong(verb, is_hex ? "integers, byte buffers, and strings" : "integers");
}

Outcome fractional(char verb, int precision, const Value& value) {
  const auto number = real(value);
  if (!number) {
    return wrong(verb, "doubles");
  }
  if (std::isnan(*number) || std::isinf(*number)) {
    return Value(std::isnan(*number) ? "NaN" : *number < 0 ? "-Infinity" : "Infinity");
  }
  return Value(verb == 'f' ? fmt::format("{:.{}f}", *number, precision)
                           : fmt::format("{:.{}e}", *number, precision));
}

Outcome one(char verb, int precision, const Value& value) {
  switch (verb) {
  case 's':
    return text_of(value);
  case 'd':
  case 'x':
  case 'X':
  case 'o':
  case 'b':
    return integral(verb, value);
  case 'f':
  case 'e':
    return fractional(verb, precision, value);
  default:
    return failure(fmt::format("could not parse formatting clause: unrecognized formatting clause "
                               "\"{}\"",
                               verb));
  }
}

/// ".3" at the front of the text is taken from it.
int take_precision(std::string_view& text) {
  if (!text.starts_with('.')) {
    return kPrecision;
  }
  text.remove_prefix(1);
  int out = 0;
  while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
    out = std::min(out * 10 + (text.front() - '0'), 100);
    text.remove_prefix(1);
  }
  return out;
}

} // namespace

Outcome formatted(std::string_view format, const List& args) {
  std::string out;
  std::size_t next = 0;
  while (!format.empty()) {
    const std::size_t percent = std::min(format.find('%'), format.size());
    out += format.substr(0, percent);
    format.remove_prefix(percent);
    if (format.empty()) {
      break;
    }
    format.remove_prefix(1);
    if (format.starts_with('%')) {
      out += '%';
      format.remove_prefix(1);
      continue;
    }
    const int precision = take_precision(format);
    if (format.empty()) {
      return failure("unexpected end of string");
    }
    if (next == args.size()) {
      return failure(fmt::format("index {} out of range", next));
    }
    const Outcome text = one(format.front(), precision, args.at(next++));
    if (!text) {
      return text;
    }
    out += *text->get<std::string>();
    format.remove_prefix(1);
  }
  return Value(std::move(out));
}

} // namespace berth::cel
