// size() and conversions between types. Source: cel-spec, doc/langdef.md ("List of Standard
// Definitions"); texts of numbers and failures as Go writes them.
#include <array>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "berth/cel/library.h"
#include "berth/cel/time_text.h"
#include "berth/cel/utf8.h"

namespace berth::cel {
namespace {

using Args = std::span<const Value>;

template <class T> const T& as(const Value& value) {
  return *value.get<T>();
}

template <class T> Outcome same(Args args) {
  return Value(as<T>(args[0]));
}

/// Go's %g with the digits that are needed: exponents below -4 and from 6 on are written.
std::string shown(double value) {
  if (std::isnan(value)) {
    return "NaN";
  }
  if (std::isinf(value)) {
    return value < 0 ? "-Inf" : "+Inf";
  }
  std::array<char, 400> text{};
  const auto format = [&](std::chars_format as) {
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value, as).ptr;
    return std::string(text.data(), end);
  };
  std::string scientific = format(std::chars_format::scientific);
  const int exponent = std::atoi(scientific.c_str() + scientific.find('e') + 1);
  return exponent < -4 || exponent >= 6 ? scientific : format(std::chars_format::fixed);
}

template <class T> Outcome parsed(const std::string& text, const char* function) {
  T out{};
  const char* begin = text.data() + (text.starts_with('+') ? 1 : 0);
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(begin, end, out);
  if (error == std::errc::result_out_of_range) {
    return failure(fmt::format("strconv.{}: parsing \"{}\": value out of range", function, text));
  }
  if (error != std::errc() || stop != end) {
    return failure(fmt::format("strconv.{}: parsing \"{}\": invalid syntax", function, text));
  }
  return Value(out);
}

Outcome int_of_uint(Args args) {
  const auto value = as<std::uint64_t>(args[0]);
  return value > INT64_MAX ? failure("integer overflow")
                           : Outcome(Value(static_cast<std::int64_t>(value)));
}

Outcome int_of_double(Args args) {
  const auto value = as<double>(args[0]);
  return std::isnan(value) || value >= 0x1p63 || value <= -0x1p63
             ? failure("integer overflow")
             : Outcome(Value(static_cast<std::int64_t>(value)));
}

Outcome uint_of_int(Args args) {
  const auto value = as<std::int64_t>(args[0]);
  return value < 0 ? failure("unsigned integer overflow")
                   : Outcome(Value(static_cast<std::uint64_t>(value)));
}

Outcome uint_of_double(Args args) {
  const auto value = as<double>(args[0]);
  return std::isnan(value) || value >= 0x1p64 || value < 0
             ? failure("unsigned integer overflow")
             : Outcome(Value(static_cast<std::uint64_t>(value)));
}

Outcome bool_of_string(Args args) {
  const auto& text = as<std::string>(args[0]);
  for (const char* yes : {"1", "t", "T", "true", "TRUE", "True"}) {
    if (text == yes) {
      return Value(true);
    }
  }
  for (const char* no : {"0", "f", "F", "false", "FALSE", "False"}) {
    if (text == no) {
      return Value(false);
    }
  }
  return failure(fmt::format("strconv.ParseBool: parsing \"{}\": invalid syntax", text));
}

Outcome string_of_bytes(Args args) {
  const std::string& bytes = as<Bytes>(args[0]).bytes;
  return to_utf8(code_points(bytes)) == bytes
             ? Outcome(Value(bytes))
             : failure("invalid UTF-8 in bytes, cannot convert to string");
}

Outcome duration_of_string(Args args) {
  const auto& text = as<std::string>(args[0]);
  const auto read = parse_signed_duration(text);
  return read ? Outcome(Value(*read)) : failure(fmt::format("time: invalid duration \"{}\"", text));
}

Outcome timestamp_of_string(Args args) {
  const auto& text = as<std::string>(args[0]);
  const auto read = parse_rfc3339(text);
  return read ? Outcome(Value(*read))
              : failure(fmt::format("parsing time \"{}\" as \"2006-01-02T15:04:05Z07:00\": "
                                    "cannot parse \"{}\"",
                                    text, text));
}

std::vector<Declaration> sizes() {
  using Text = std::string;
  const Run text = [](Args a) -> Outcome {
    return Value(static_cast<std::int64_t>(code_points(as<Text>(a[0])).size()));
  };
  const Run bytes = [](Args a) -> Outcome {
    return Value(static_cast<std::int64_t>(as<Bytes>(a[0]).bytes.size()));
  };
  const Run list = [](Args a) -> Outcome {
    return Value(static_cast<std::int64_t>(a[0].list()->size()));
  };
  const Run map = [](Args a) -> Outcome {
    return Value(static_cast<std::int64_t>(a[0].map()->size()));
  };
  return {{"size(string) -> int", text},   {"string::size() -> int", text},
          {"size(bytes) -> int", bytes},   {"bytes::size() -> int", bytes},
          {"size(list(A)) -> int", list},  {"list(A)::size() -> int", list},
          {"size(map(A, B)) -> int", map}, {"map(A, B)::size() -> int", map}};
}

std::vector<Declaration> numbers() {
  using I = std::int64_t;
  using U = std::uint64_t;
  using Text = std::string;
  return {
      {"int(int) -> int", same<I>},
      {"int(uint) -> int", int_of_uint},
      {"int(double) -> int", int_of_double},
      {"int(string) -> int", [](Args a) { return parsed<I>(as<Text>(a[0]), "ParseInt"); }},
      {"int(timestamp) -> int",
       [](Args a) -> Outcome { return Value(as<TimePoint>(a[0]).unix_seconds()); }},
      {"int(duration) -> int",
       [](Args a) -> Outcome { return Value(as<Duration>(a[0]).count_nanos()); }},
      {"uint(uint) -> uint", same<U>},
      {"uint(int) -> uint", uint_of_int},
      {"uint(double) -> uint", uint_of_double},
      {"uint(string) -> uint", [](Args a) { return parsed<U>(as<Text>(a[0]), "ParseUint"); }},
      {"double(double) -> double", same<double>},
      {"double(int) -> double",
       [](Args a) -> Outcome { return Value(static_cast<double>(as<I>(a[0]))); }},
      {"double(uint) -> double",
       [](Args a) -> Outcome { return Value(static_cast<double>(as<U>(a[0]))); }},
      {"double(string) -> double",
       [](Args a) { return parsed<double>(as<Text>(a[0]), "ParseFloat"); }},
      {"bool(bool) -> bool", same<bool>},
      {"bool(string) -> bool", bool_of_string},
  };
}

std::vector<Declaration> texts() {
  using Text = std::string;
  return {
      {"string(string) -> string", same<Text>},
      {"string(bool) -> string",
       [](Args a) -> Outcome { return Value(as<bool>(a[0]) ? "true" : "false"); }},
      {"string(int) -> string",
       [](Args a) -> Outcome { return Value(fmt::to_string(as<std::int64_t>(a[0]))); }},
      {"string(uint) -> string",
       [](Args a) -> Outcome { return Value(fmt::to_string(as<std::uint64_t>(a[0]))); }},
      {"string(double) -> string",
       [](Args a) -> Outcome { return Value(shown(as<double>(a[0]))); }},
      {"string(bytes) -> string", string_of_bytes},
      {"string(timestamp) -> string",
       [](Args a) -> Outcome { return Value(to_rfc3339_nano(as<TimePoint>(a[0]))); }},
      {"string(duration) -> string",
       [](Args a) -> Outcome { return Value(seconds_text(as<Duration>(a[0]))); }},
      {"bytes(bytes) -> bytes", same<Bytes>},
      {"bytes(string) -> bytes", [](Args a) -> Outcome { return Value(Bytes{as<Text>(a[0])}); }},
  };
}

} // namespace

std::vector<Declaration> conversions() {
  std::vector<Declaration> out = {
      {"duration(duration) -> duration", same<Duration>},
      {"duration(string) -> duration", duration_of_string},
      {"duration(int) -> duration",
       [](Args a) -> Outcome { return Value(Duration::nanos(as<std::int64_t>(a[0]))); }},
      {"timestamp(timestamp) -> timestamp", same<TimePoint>},
      {"timestamp(string) -> timestamp", timestamp_of_string},
      {"timestamp(int) -> timestamp",
       [](Args a) -> Outcome {
         const auto seconds = as<std::int64_t>(a[0]);
         return std::abs(seconds) > INT64_MAX / 1'000'000'000
                    ? failure("timestamp overflow")
                    : Outcome(Value(TimePoint::from_unix_seconds(seconds)));
       }},
      {"type(A) -> type(A)", [](Args a) -> Outcome { return Value(type_of(a[0])); }},
      {"dyn(A) -> dyn", [](Args a) -> Outcome { return a[0]; }},
  };
  for (const auto& subject : {sizes(), numbers(), texts()}) {
    out.insert(out.end(), subject.begin(), subject.end());
  }
  return out;
}

} // namespace berth::cel
