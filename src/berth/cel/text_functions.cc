// Functions of texts. Sources: cel-spec's standard definitions; cel-go ext/strings.go (version 2);
// k8s.io/apiserver/pkg/cel/library regex.go.
#include <algorithm>

#include <fmt/format.h>

#include "berth/api/pattern.h"
#include "berth/cel/format_text.h"
#include "berth/cel/library.h"
#include "berth/cel/utf8.h"

namespace berth::cel {
namespace {

using Args = std::span<const Value>;

const std::string& text(const Value& value) {
  return *value.get<std::string>();
}
std::int64_t whole(const Value& value) {
  return *value.get<std::int64_t>();
}
Value number(std::size_t at) {
  return {at == std::u32string::npos ? std::int64_t{-1} : static_cast<std::int64_t>(at)};
}

Result<std::shared_ptr<const api::Pattern>> pattern(const Value& expression) {
  return api::Pattern::compile(text(expression));
}

Outcome matches(Args args) {
  const auto compiled = pattern(args[1]);
  return compiled ? Outcome(Value((*compiled)->matches(text(args[0]))))
                  : failure(compiled.error().message);
}

Outcome find(Args args) {
  const auto compiled = pattern(args[1]);
  if (!compiled) {
    return failure("Illegal regex: " + compiled.error().message);
  }
  const auto found = (*compiled)->find_all(text(args[0]), 1);
  return Value(found.empty() ? std::string() : std::string(found.front()));
}

/// At most args[2] of them, if it is there and not negative.
Outcome find_all(Args args) {
  const auto compiled = pattern(args[1]);
  if (!compiled) {
    return failure("Illegal regex: " + compiled.error().message);
  }
  const std::int64_t most = args.size() > 2 ? whole(args[2]) : -1;
  std::vector<Value> out;
  for (const std::string_view one :
       (*compiled)->find_all(text(args[0]), most < 0 ? SIZE_MAX : static_cast<std::size_t>(most))) {
    out.emplace_back(std::string(one));
  }
  return list_value(std::move(out));
}

Outcome out_of_range(std::int64_t at) {
  return failure(fmt::format("index out of range: {}", at));
}

Outcome char_at(Args args) {
  const std::u32string points = code_points(text(args[0]));
  const std::int64_t at = whole(args[1]);
  if (at < 0 || static_cast<std::size_t>(at) > points.size()) {
    return out_of_range(at);
  }
  return Value(to_utf8(std::u32string_view(points).substr(static_cast<std::size_t>(at), 1)));
}

Outcome index_of(Args args) {
  const std::u32string points = code_points(text(args[0]));
  const std::int64_t from = args.size() > 2 ? whole(args[2]) : 0;
  if (from < 0 || static_cast<std::size_t>(from) > points.size()) {
    return out_of_range(from);
  }
  return number(points.find(code_points(text(args[1])), static_cast<std::size_t>(from)));
}

Outcome last_index_of(Args args) {
  const std::u32string points = code_points(text(args[0]));
  const std::int64_t from =
      args.size() > 2 ? whole(args[2]) : static_cast<std::int64_t>(points.size());
  if (from < 0 || static_cast<std::size_t>(from) > points.size()) {
    return out_of_range(from);
  }
  return number(points.rfind(code_points(text(args[1])), static_cast<std::size_t>(from)));
}

Outcome substring(Args args) {
  const std::u32string points = code_points(text(args[0]));
  const auto size = static_cast<std::int64_t>(points.size());
  const std::int64_t from = whole(args[1]);
  const std::int64_t to = args.size() > 2 ? whole(args[2]) : size;
  if (from < 0 || from > size) {
    return out_of_range(from);
  }
  if (to < 0 || to > size) {
    return out_of_range(to);
  }
  if (from > to) {
    return failure(fmt::format("invalid substring range. start: {}, end: {}", from, to));
  }
  return Value(to_utf8(std::u32string_view(points).substr(static_cast<std::size_t>(from),
                                                          static_cast<std::size_t>(to - from))));
}

/// The pieces between the separators, at most so many; of an empty separator the characters.
std::vector<std::string> pieces(const std::string& of, const std::string& by, std::int64_t most) {
  std::vector<std::string> out;
  if (most == 0) {
    return out;
  }
  const auto full = [&] { return most > 0 && static_cast<std::int64_t>(out.size()) == most - 1; };
  if (by.empty()) {
    std::u32string_view left;
    const std::u32string points = code_points(of);
    for (left = points; left.size() > 1 && !full(); left.remove_prefix(1)) {
      out.push_back(to_utf8(left.substr(0, 1)));
    }
    if (!left.empty()) {
      out.push_back(to_utf8(left));
    }
    return out;
  }
  std::size_t from = 0;
  for (std::size_t at = of.find(by); at != std::string::npos && !full(); at = of.find(by, from)) {
    out.push_back(of.substr(from, at - from));
    from = at + by.size();
  }
  out.push_back(of.substr(from));
  return out;
}

Outcome split(Args args) {
  std::vector<Value> out;
  for (std::string& one :
       pieces(text(args[0]), text(args[1]), args.size() > 2 ? whole(args[2]) : -1)) {
    out.emplace_back(std::move(one));
  }
  return list_value(std::move(out));
}

Outcome replace(Args args) {
  const std::int64_t most = args.size() > 3 ? whole(args[3]) : -1;
  const std::string& of = text(args[0]);
  const std::string& from = text(args[1]);
  const std::string& to = text(args[2]);
  if (most == 0) {
    return Value(of);
  }
  std::string out;
  if (from.empty()) { // before each character, and at the end
    std::int64_t done = 0;
    for (const char32_t point : code_points(of)) {
      out += most < 0 || done < most ? to : std::string();
      ++done;
      add_utf8(out, point);
    }
    return Value(out + (most < 0 || done < most ? to : std::string()));
  }
  const auto parts = pieces(of, from, most < 0 ? -1 : most + 1);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    out += (i > 0 ? to : std::string()) + parts[i];
  }
  return Value(std::move(out));
}

Outcome join(Args args) {
  const List& list = *args[0].list();
  std::string out;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Value item = list.at(i);
    if (!item.is<std::string>()) {
      return failure("no such overload");
    }
    out += (i > 0 && args.size() > 1 ? text(args[1]) : std::string()) + text(item);
  }
  return Value(std::move(out));
}

/// ASCII letters alone change.
template <char from, char to> Outcome in_case(Args args) {
  std::string out = text(args[0]);
  std::ranges::transform(out, out.begin(), [](char c) {
    return c >= from && c < from + 26 ? static_cast<char>(c - from + to) : c;
  });
  return Value(std::move(out));
}

bool is_blank(char32_t point) {
  return (point >= 0x09 && point <= 0x0d) || point == 0x20 || point == 0x85 || point == 0xa0 ||
         point == 0x1680 || (point >= 0x2000 && point <= 0x200a) || point == 0x2028 ||
         point == 0x2029 || point == 0x202f || point == 0x205f || point == 0x3000;
}

Outcome trim(Args args) {
  const std::u32string points = code_points(text(args[0]));
  std::u32string_view left = points;
  while (!left.empty() && is_blank(left.front())) {
    left.remove_prefix(1);
  }
  while (!left.empty() && is_blank(left.back())) {
    left.remove_suffix(1);
  }
  return Value(to_utf8(left));
}

Outcome quote(Args args) {
  std::string out = "\"";
  constexpr std::string_view kPlain = "\a\b\f\n\r\t\v\\\"";
  constexpr std::string_view kLetters = "abfnrtv\\\"";
  for (const char c : to_utf8(code_points(text(args[0])))) {
    if (const std::size_t at = kPlain.find(c); at != std::string_view::npos) {
      out += {'\\', kLetters[at]};
    } else {
      out += c;
    }
  }
  return Value(out + '"');
}

} // namespace

std::vector<Declaration> text_functions() {
  return {
      {"string::contains(string) -> bool",
       [](Args a) -> Outcome { return Value(text(a[0]).find(text(a[1])) != std::string::npos); }},
      {"string::startsWith(string) -> bool",
       [](Args a) -> Outcome { return Value(text(a[0]).starts_with(text(a[1]))); }},
      {"string::endsWith(string) -> bool",
       [](Args a) -> Outcome { return Value(text(a[0]).ends_with(text(a[1]))); }},
      {"string::matches(string) -> bool", matches},
      {"matches(string, string) -> bool", matches},
      {"string::find(string) -> string", find},
      {"string::findAll(string) -> list(string)", find_all},
      {"string::findAll(string, int) -> list(string)", find_all},
      {"string::charAt(int) -> string", char_at},
      {"string::indexOf(string) -> int", index_of},
      {"string::indexOf(string, int) -> int", index_of},
      {"string::lastIndexOf(string) -> int", last_index_of},
      {"string::lastIndexOf(string, int) -> int", last_index_of},
      {"string::substring(int) -> string", substring},
      {"string::substring(int, int) -> string", substring},
      {"string::split(string) -> list(string)", split},
      {"string::split(string, int) -> list(string)", split},
      {"string::replace(string, string) -> string", replace},
      {"string::replace(string, string, int) -> string", replace},
      {"list(string)::join() -> string", join},
      {"list(string)::join(string) -> string", join},
      {"string::lowerAscii() -> string", in_case<'A', 'a'>},
      {"string::upperAscii() -> string", in_case<'a', 'A'>},
      {"string::trim() -> string", trim},
      {"strings.quote(string) -> string", quote},
      {"string::format(list(dyn)) -> string",
       [](Args a) { return formatted(text(a[0]), *a[1].list()); }},
  };
}

} // namespace berth::cel
