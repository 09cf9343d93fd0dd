// Expressions in tests: evaluated on JSON, their values as text.
#pragma once

#include <string>

#include <boost/json/parse.hpp>

#include "berth/cel/json_value.h"
#include "berth/cel/library.h"
#include "berth/cel/program.h"

namespace berth::cel::test {

inline std::string shown(const Value& value) {
  if (const List* list = value.list()) {
    std::string out;
    for (std::size_t i = 0; i < list->size(); ++i) {
      out += (i > 0 ? ", " : "") + shown(list->at(i));
    }
    return "[" + out + "]";
  }
  if (const Map* map = value.map()) {
    std::string out;
    for (const Value& key : map->keys()) {
      out += (out.empty() ? "" : ", ") + shown(key) + ": " + shown(*map->find(key));
    }
    return "{" + out + "}";
  }
  if (const auto* text = value.get<std::string>()) {
    return "'" + *text + "'";
  }
  if (const auto* held = value.get<Optional>()) {
    return held->value == nullptr ? "none" : "some(" + shown(*held->value) + ")";
  }
  if (value.is<Null>()) {
    return "null";
  }
  if (const auto* type = value.get<TypeRef>()) {
    return to_string(**type);
  }
  if (const auto* quantity = value.opaque<api::Quantity>()) {
    return quantity->to_string();
  }
  if (value.opaque<Url>() != nullptr) {
    return value.opaque<Url>()->text;
  }
  if (value.opaque<Semver>() != nullptr) {
    return to_string(*value.opaque<Semver>());
  }
  const Outcome text = call("string", false, std::span(&value, 1));
  return (text ? *text->get<std::string>() : "?") + (value.is<std::uint64_t>() ? "u" : "");
}

/// The value of an expression; "error: ..." at run time, "ERROR: ..." before.
inline std::string evaluated(const std::string& expression, const std::string& self = "null",
                             const TypeRef& type = simple(Kind::Dyn)) {
  const Variable variables[] = {{.name = "self", .type = type}};
  const auto program = Program::compile(expression, variables);
  if (!program) {
    return program.error().message;
  }
  const boost::json::value json = boost::json::parse(self);
  const Bound bound[] = {{.name = "self", .value = from_json(json, type)}};
  const Evaluated result = (*program)->run(bound, 1'000'000);
  return result.value ? shown(*result.value) : "error: " + result.value.error().what;
}

} // namespace berth::cel::test
