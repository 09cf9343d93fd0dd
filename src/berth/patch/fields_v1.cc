#include "berth/patch/fields_v1.h"

#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "berth/api/json.h"

namespace berth::patch {
namespace {

/// JSON as Go writes it: <, > and & escaped.
std::string escaped_json(const json::value& value) {
  std::string text = api::to_json(value);
  if (text.find_first_of("<>&") == std::string::npos) {
    return text;
  }
  std::string out;
  for (const char c : text) {
    if (c == '<' || c == '>' || c == '&') {
      out += fmt::format("\\u{:04x}", static_cast<int>(c));
    } else {
      out += c;
    }
  }
  return out;
}

std::string written(const PathElement& element) {
  switch (element.kind) {
  case PathElement::Kind::Field:
    return "f:" + element.name;
  case PathElement::Kind::Key: {
    std::string out = "k:{";
    for (const auto& [name, value] : element.keys) {
      out += out.size() > 3 ? "," : "";
      out += escaped_json(json::value(name)) + ":" + escaped_json(value);
    }
    return out + "}";
  }
  case PathElement::Kind::Value:
    return "v:" + escaped_json(element.value);
  case PathElement::Kind::Index:
    return fmt::format("i:{}", element.index);
  }
  return "";
}

tl::unexpected<Error> unreadable(std::string_view key, std::string_view why) {
  return fail(Code::Invalid, fmt::format("cannot read the path element \"{}\": {}", key, why));
}

Result<PathElement> read_key(std::string_view whole, std::string_view text) {
  const auto parsed = api::parse_json(text);
  if (!parsed || !parsed->is_object()) {
    return unreadable(whole, "no JSON object follows \"k:\"");
  }
  std::vector<std::pair<std::string, json::value>> keys;
  for (const auto& [name, value] : parsed->get_object()) {
    keys.emplace_back(std::string(name), value);
  }
  return PathElement::key(std::move(keys));
}

/// Nothing for a kind that is not known.
Result<std::optional<PathElement>> read_element(std::string_view key) {
  if (key.size() < 2) {
    return unreadable(key, "it must be 2 characters long");
  }
  if (key[1] != ':') {
    return unreadable(key, "missing colon");
  }
  const std::string_view rest = key.substr(2);
  switch (key[0]) {
  case 'f':
    return PathElement::field(rest);
  case 'k': {
    BERTH_TRY(PathElement made, read_key(key, rest));
    return made;
  }
  case 'v': {
    auto parsed = api::parse_json(rest);
    if (!parsed) {
      return unreadable(key, "no JSON value follows \"v:\"");
    }
    return PathElement::item(std::move(*parsed));
  }
  case 'i': {
    int index = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), index);
    if (error != std::errc() || end != rest.data() + rest.size()) {
      return unreadable(key, "no number follows \"i:\"");
    }
    return PathElement::at(index);
  }
  default:
    return std::nullopt;
  }
}

void write_into(json::object& out, const FieldSet& set) {
  out.reserve(out.size() + set.nodes().size());
  for (const FieldSet::Node& node : set.nodes()) {
    json::object& below = out[written(node.element)].emplace_object();
    if (node.below.empty()) {
      continue;
    }
    if (node.member) {
      below.reserve(node.below.nodes().size() + 1);
      below["."].emplace_object();
    }
    write_into(below, node.below);
  }
}

} // namespace

Result<FieldSet> read_fields_v1(const json::value& fields) {
  FieldSet out;
  const json::object* object = fields.if_object();
  if (object == nullptr) {
    return out;
  }
  for (const auto& [key, value] : *object) {
    if (key == ".") {
      continue; // the caller looks at it
    }
    BERTH_TRY(std::optional<PathElement> element, read_element(key));
    if (!element) {
      continue;
    }
    BERTH_TRY(FieldSet below, read_fields_v1(value));
    const bool named = value.is_object() && value.get_object().contains(".");
    const bool member = named || below.empty();
    out.add(*std::move(element), member, std::move(below));
  }
  return out;
}

json::object write_fields_v1(const FieldSet& set) {
  json::object out;
  write_into(out, set);
  return out;
}

} // namespace berth::patch
