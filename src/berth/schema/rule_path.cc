#include "berth/schema/rule_path.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

namespace berth::schema {
namespace {

constexpr const char* kNoField = "does not refer to a valid field";

tl::unexpected<Error> wrong(std::string what) {
  return fail(Code::Invalid, std::move(what));
}

/// The next piece of the path: ".", "[", "]", what is quoted, or what stands between these.
std::string_view take_piece(std::string_view& rest) {
  std::size_t length = 1;
  if (rest.front() == '\'') {
    while (length < rest.size() && (rest[length] != '\'' || rest[length - 1] == '\\')) {
      ++length;
    }
    length = std::min(length + 1, rest.size());
  } else if (std::string_view(".[]").find(rest.front()) == std::string_view::npos) {
    length = std::min(rest.find_first_of(".[]"), rest.size());
  }
  const std::string_view piece = rest.substr(0, length);
  rest.remove_prefix(length);
  return piece;
}

Result<std::string> unquoted(std::string_view piece) {
  if (piece.size() < 2 || piece.front() != '\'' || piece.back() != '\'') {
    return wrong(fmt::format("expected single quoted string but got {}", piece));
  }
  constexpr std::string_view kLetters = "abfnrtv'\\";
  constexpr std::string_view kMeanings = "\a\b\f\n\r\t\v'\\";
  const std::string_view inside = piece.substr(1, piece.size() - 2);
  std::string out;
  for (std::size_t i = 0; i < inside.size(); ++i) {
    if (inside[i] != '\\' || i + 1 == inside.size()) {
      out += inside[i];
      continue;
    }
    const std::size_t at = kLetters.find(inside[++i]);
    if (at == std::string_view::npos) {
      return wrong(fmt::format("invalid string literal: invalid escape char \\{}", inside[i]));
    }
    out += kMeanings[at];
  }
  return out;
}

/// One step down, and how it is named.
struct Step {
  const Type* type;
  std::string shown;
};
Result<Step> step(const Type& type, const std::string& name, bool first) {
  if (type.form == Form::Map) {
    return Step{.type = type.element, .shown = fmt::format("[{}]", name)};
  }
  const Field* field = type.field(name);
  if (type.form != Form::Struct || field == nullptr) {
    return wrong(kNoField);
  }
  return Step{.type = field->type, .shown = (first ? "" : ".") + name};
}

} // namespace

Result<std::string> field_path_of(std::string_view written, const Type& type) {
  std::string out;
  const Type* at = &type;
  while (!written.empty()) {
    const std::string_view sign = take_piece(written);
    if (sign != "." && sign != "[") {
      return wrong(fmt::format("expected [ or . but got: {}", sign));
    }
    if (written.empty()) {
      return wrong("unexpected end of JSON path");
    }
    std::string name(take_piece(written));
    if (sign == "[") {
      BERTH_TRY(name, unquoted(name));
      if (written.empty()) {
        return wrong("unexpected end of JSON path");
      }
      if (const std::string_view end = take_piece(written); end != "]") {
        return wrong(fmt::format("expected ] but got {}", end));
      }
    }
    BERTH_TRY(const Step next, step(*at, name, out.empty()));
    out += next.shown;
    at = next.type;
  }
  return out;
}

} // namespace berth::schema
