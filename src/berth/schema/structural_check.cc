// The conditions of structural schemas. Source: apiextensions-apiserver
// pkg/apiserver/schema/validation.go, pkg/apis/apiextensions/validation/validation.go.
#include <array>
#include <set>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>
#include <fmt/format.h>

#include "berth/api/pattern.h"
#include "berth/schema/structural.h"
#include "berth/schema/validate.h"

namespace berth::schema {
namespace {

namespace json = boost::json;

constexpr std::string_view kIntOrString = "x-kubernetes-int-or-string";
constexpr std::string_view kPreserve = "x-kubernetes-preserve-unknown-fields";
constexpr std::string_view kEmbedded = "x-kubernetes-embedded-resource";
constexpr std::string_view kListType = "x-kubernetes-list-type";
constexpr std::string_view kListKeys = "x-kubernetes-list-map-keys";
constexpr std::string_view kMapType = "x-kubernetes-map-type";
constexpr std::array kJunctors = {"allOf", "anyOf", "oneOf"};

enum class Level { Root, Items, Field };

std::string at(const std::string& path, std::string_view child) {
  return fmt::format("{}.{}", path, child);
}
std::string property_at(const std::string& path, std::string_view name) {
  return fmt::format("{}.properties[{}]", path, name);
}

std::string_view text(const json::object& of, std::string_view name) {
  const json::value* found = of.if_contains(name);
  return found != nullptr && found->is_string() ? std::string_view(found->as_string())
                                                : std::string_view();
}
bool flag(const json::object& of, std::string_view name) {
  const json::value* found = of.if_contains(name);
  return found != nullptr && found->is_bool() && found->as_bool();
}
bool has(const json::object& of, std::string_view name) {
  const json::value* found = of.if_contains(name);
  return found != nullptr && !found->is_null();
}
const json::object* object(const json::object& of, std::string_view name) {
  const json::value* found = of.if_contains(name);
  return found == nullptr ? nullptr : found->if_object();
}
const json::array* array(const json::object& of, std::string_view name) {
  const json::value* found = of.if_contains(name);
  return found == nullptr ? nullptr : found->if_array();
}

class Checker {
 public:
  FieldErrors take() { return std::move(errors_); }

  void schema(const json::object& of, Level level, const std::string& path) {
    form(of, level, path);
    unsupported(of, path);
    lists_and_maps(of, path);
    values(of, path);
    junctors(of, of, path, path);
    if (const json::object* properties = object(of, "properties")) {
      for (const auto& [name, member] : *properties) {
        const std::string where = property_at(path, name);
        if (!member.is_object()) {
          add(required_value(at(where, "type"), "must not be empty for specified object fields"));
        } else if (level == Level::Root && name == "metadata") {
          metadata(member.as_object(), where);
        } else {
          schema(member.as_object(), Level::Field, where);
        }
      }
    }
    if (const json::object* items = object(of, "items")) {
      schema(*items, Level::Items, at(path, "items"));
    }
    if (const json::object* additional = object(of, "additionalProperties")) {
      schema(*additional, Level::Field, at(path, "additionalProperties"));
    }
  }

 private:
  void add(FieldError error) { errors_.push_back(std::move(error)); }

  void form(const json::object& of, Level level, const std::string& path) {
    const std::string_view type = text(of, "type");
    constexpr std::array kTypes = {"array", "boolean", "integer", "number", "object", "string"};
    if (!type.empty() && std::ranges::find(kTypes, type) == kTypes.end()) {
      add(not_supported(at(path, "type"), json::value(type),
                        {std::begin(kTypes), std::end(kTypes)}));
    }
    if (type.empty() && !flag(of, kIntOrString) && !flag(of, kPreserve)) {
      add(required_value(at(path, "type"), level == Level::Root ? "must not be empty at the root"
                                           : level == Level::Items
                                               ? "must not be empty for specified array items"
                                               : "must not be empty for specified object fields"));
    }
    if (level == Level::Root && !type.empty() && type != "object") {
      add(invalid_value(at(path, "type"), json::value(type), "must be object at the root"));
    }
    if (flag(of, kIntOrString) && !type.empty()) {
      add(invalid_value(at(path, "type"), json::value(type),
                        fmt::format("must be empty if {} is true", kIntOrString)));
    }
    if (flag(of, kEmbedded)) {
      embedded(of, type, path);
    }
    if (type == "array" && !has(of, "items")) {
      add(required_value(at(path, "items"), "must be specified"));
    }
  }

  void embedded(const json::object& of, std::string_view type, const std::string& path) {
    const std::string why = fmt::format("must be object if {} is true", kEmbedded);
    if (type.empty()) {
      add(required_value(at(path, "type"), why));
    } else if (type != "object") {
      add(invalid_value(at(path, "type"), json::value(type), why));
    }
    const json::object* properties = object(of, "properties");
    if (!flag(of, kPreserve) && (properties == nullptr || properties->empty())) {
      add(required_value(
          at(path, "properties"),
          fmt::format("must not be empty if {} is true without {}", kEmbedded, kPreserve)));
    }
  }

  void unsupported(const json::object& of, const std::string& path) {
    if (flag(of, "uniqueItems")) {
      add(forbidden_value(at(path, "uniqueItems"), "uniqueItems cannot be set to true since the "
                                                   "runtime complexity becomes quadratic"));
    }
    for (const std::string_view name :
         {"$ref", "additionalItems", "definitions", "dependencies", "id", "patternProperties"}) {
      if (has(of, name)) {
        add(forbidden_value(at(path, name), fmt::format("{} is not supported", name)));
      }
    }
    if (has(of, "properties") && has(of, "additionalProperties")) {
      add(forbidden_value(at(path, "additionalProperties"),
                          "additionalProperties and properties are mutual exclusive"));
    }
    if (const json::value* additional = of.if_contains("additionalProperties");
        additional != nullptr && *additional == false) {
      add(forbidden_value(at(path, "additionalProperties"),
                          "additionalProperties cannot be set to false"));
    }
    if (array(of, "items") != nullptr) {
      add(forbidden_value(at(path, "items"), "items must be a schema object and not an array"));
    }
    const json::value* preserve = of.if_contains(kPreserve);
    if (preserve != nullptr && *preserve == false) {
      add(invalid_value(at(path, kPreserve), false, "must be true or undefined"));
    }
  }

  void lists_and_maps(const json::object& of, const std::string& path) {
    const std::string_view kind = text(of, kListType);
    const std::string_view type = text(of, "type");
    if (!kind.empty() && type != "array") {
      const auto where = at(path, "type");
      const auto why = fmt::format("must be array if {} is specified", kListType);
      add(type.empty() ? required_value(where, why) : invalid_value(where, json::value(type), why));
    }
    if (!kind.empty() && kind != "atomic" && kind != "set" && kind != "map") {
      add(not_supported(at(path, kListType), json::value(kind), {"atomic", "map", "set"}));
    }
    const json::array* keys = array(of, kListKeys);
    const bool keyed = keys != nullptr && !keys->empty();
    if (keyed && kind != "map") {
      const auto why = fmt::format("must be map if {} is non-empty", kListKeys);
      add(kind.empty() ? required_value(at(path, kListType), why)
                       : invalid_value(at(path, kListType), json::value(kind), why));
    }
    if (kind == "map") {
      if (!keyed) {
        add(required_value(at(path, kListKeys),
                           fmt::format("must not be empty if {} is map", kListType)));
      } else if (const json::object* items = object(of, "items")) {
        list_keys(*keys, *items, path);
      }
    }
    const std::string_view map_kind = text(of, kMapType);
    if (!map_kind.empty() && type != "object") {
      add(type.empty() ? required_value(at(path, "type"),
                                        fmt::format("must be object if {} is specified", kMapType))
                       : invalid_value(at(path, "type"), json::value(type),
                                       fmt::format("must be object if {} is specified", kMapType)));
    }
    if (!map_kind.empty() && map_kind != "atomic" && map_kind != "granular") {
      add(not_supported(at(path, kMapType), json::value(map_kind), {"atomic", "granular"}));
    }
  }

  void list_keys(const json::array& keys, const json::object& items, const std::string& path) {
    if (text(items, "type") != "object") {
      add(invalid_value(at(path, "items.type"), json::value(text(items, "type")),
                        fmt::format("must be object if parent array's {} is map", kListType)));
      return;
    }
    const json::object* properties = object(items, "properties");
    const json::array* required = array(items, "required");
    std::set<std::string> seen;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const std::string name = keys[i].is_string() ? std::string(keys[i].as_string()) : "";
      const json::object* key = properties == nullptr ? nullptr : object(*properties, name);
      if (key == nullptr) {
        add(invalid_value(fmt::format("{}.{}[{}]", path, kListKeys, i), json::value(name),
                          fmt::format("entries must all be names of item properties")));
      } else if (text(*key, "type") == "array" || text(*key, "type") == "object") {
        add(invalid_value(
            at(property_at(at(path, "items"), name), "type"), json::value(text(*key, "type")),
            fmt::format("must be a scalar type if parent array's {} is map", kListType)));
      } else if (!has(*key, "default") &&
                 (required == nullptr ||
                  std::ranges::find(*required, json::value(name)) == required->end())) {
        add(required_value(at(property_at(at(path, "items"), name), "default"),
                           "this property is in " + std::string(kListKeys) +
                               ", so it must have a default or be a required property"));
      }
      if (!seen.insert(name).second) {
        add(invalid_value(at(path, kListKeys), json::value(keys),
                          fmt::format("must be unique, but {} is duplicated", name)));
      }
    }
  }

  void values(const json::object& of, const std::string& path) {
    pattern(of, path);
    if (const json::array* allowed = array(of, "enum")) {
      for (std::size_t i = 0; i < allowed->size(); ++i) {
        if (std::find(allowed->begin(), allowed->begin() + static_cast<std::ptrdiff_t>(i),
                      (*allowed)[i]) != allowed->begin() + static_cast<std::ptrdiff_t>(i)) {
          add(duplicate_value(fmt::format("{}.enum[{}]", path, i), (*allowed)[i]));
        }
      }
    }
    if (has(of, "default")) {
      default_value(of, path);
    }
  }

  // Schemas that hold pod templates repeat the same few expressions hundreds of times.
  void pattern(const json::object& of, const std::string& path) {
    const std::string given(text(of, "pattern"));
    if (given.empty() || sound_patterns_.contains(given)) {
      return;
    }
    if (const auto compiled = api::Pattern::compile(given); !compiled) {
      add(invalid_value(at(path, "pattern"), json::value(given),
                        fmt::format("must be a valid regular expression, but isn't: {}",
                                    compiled.error().message)));
    } else {
      sound_patterns_.insert(given);
    }
  }

  // A default must satisfy the schema it stands in, as defaulting makes it.
  void default_value(const json::object& of, const std::string& path) {
    const auto type = structural_type(
        json::object{{"type", "object"}, {"properties", json::object{{"default", of}}}}, "");
    if (!type) {
      return; // its pattern has been complained of
    }
    json::value object = json::object{{"default", of.at("default")}};
    apply_defaults(object, **type);
    for (FieldError& error : validate(object, **type)) {
      if (error.field != "<nil>") {
        error.field = at(path, error.field);
      }
      add(std::move(error));
    }
  }

  // What metadata must be is known; only names may be restricted further.
  void metadata(const json::object& of, const std::string& path) {
    if (text(of, "type") != "object") {
      add(text(of, "type").empty()
              ? required_value(at(path, "type"), "must not be empty for specified object fields")
              : invalid_value(at(path, "type"), json::value(text(of, "type")), "must be object"));
    }
    if (const json::object* properties = object(of, "properties")) {
      for (const auto& [name, member] : *properties) {
        if (name != "name" && name != "generateName") {
          add(forbidden_value(at(path, "properties"),
                              "must not specify anything other than name and generateName, but "
                              "metadata is implicitly specified"));
          break;
        }
      }
    }
  }

  // ---- inside allOf, anyOf, oneOf and not
  // --------------------------------------------------------

  void junctors(const json::object& of, const json::object& base, const std::string& path,
                const std::string& base_path) {
    for (const std::string_view junctor : kJunctors) {
      const json::array* alternatives = array(of, junctor);
      if (alternatives == nullptr || (junctor == "anyOf" && says_int_or_string(of))) {
        continue;
      }
      for (std::size_t i = 0; i < alternatives->size(); ++i) {
        const std::string where = fmt::format("{}.{}[{}]", path, junctor, i);
        const json::object* nested = (*alternatives)[i].if_object();
        if (nested == nullptr) {
          continue;
        }
        if (junctor == "allOf" && flag(of, kIntOrString) && is_int_or_string_any_of(*nested)) {
          continue;
        }
        inside(*nested, &base, where, base_path);
      }
    }
    if (const json::object* nested = object(of, "not")) {
      inside(*nested, &base, at(path, "not"), base_path);
    }
  }

  static bool is_int_or_string_any_of(const json::object& of) {
    const json::array* alternatives = array(of, "anyOf");
    return alternatives != nullptr &&
           *alternatives ==
               json::array{json::object{{"type", "integer"}}, json::object{{"type", "string"}}};
  }
  static bool says_int_or_string(const json::object& of) {
    return flag(of, kIntOrString) && is_int_or_string_any_of(of);
  }

  // `base` is what stands outside of all junctors, which must know every field spoken of here.
  void inside(const json::object& of, const json::object* base, const std::string& path,
              const std::string& base_path) {
    for (const std::string_view name : {"type", "title", "description"}) {
      if (!text(of, name).empty()) {
        add(forbidden_value(at(path, name), "must be empty to be structural"));
      }
    }
    for (const std::string_view name : {"additionalProperties", "default"}) {
      if (has(of, name)) {
        add(forbidden_value(at(path, name), "must be undefined to be structural"));
      }
    }
    for (const std::string_view name :
         {std::string_view("nullable"), kPreserve, kEmbedded, kIntOrString}) {
      if (flag(of, name)) {
        add(forbidden_value(at(path, name), "must be false to be structural"));
      }
    }
    unsupported_inside(of, path);
    nested_members(of, base, path, base_path);
    static const json::object kNone;
    junctors(of, base == nullptr ? kNone : *base, path, base_path);
  }

  void unsupported_inside(const json::object& of, const std::string& path) {
    if (flag(of, "uniqueItems")) {
      add(forbidden_value(at(path, "uniqueItems"), "uniqueItems cannot be set to true since the "
                                                   "runtime complexity becomes quadratic"));
    }
    pattern(of, path);
  }

  void nested_members(const json::object& of, const json::object* base, const std::string& path,
                      const std::string& base_path) {
    if (const json::object* properties = object(of, "properties")) {
      const json::object* known = base == nullptr ? nullptr : object(*base, "properties");
      for (const auto& [name, member] : *properties) {
        const json::object* outside = known == nullptr ? nullptr : object(*known, name);
        if (outside == nullptr) {
          add(required_value(property_at(base_path, name),
                             "because it is defined in " + property_at(path, name)));
        }
        if (member.is_object()) {
          inside(member.as_object(), outside, property_at(path, name),
                 property_at(base_path, name));
        }
      }
    }
    if (const json::object* items = object(of, "items")) {
      const json::object* outside = base == nullptr ? nullptr : object(*base, "items");
      if (outside == nullptr) {
        add(required_value(at(base_path, "items"),
                           "because it is defined in " + at(path, "items")));
      }
      inside(*items, outside, at(path, "items"), at(base_path, "items"));
    }
  }

  FieldErrors errors_;
  std::set<std::string> sound_patterns_;
};

} // namespace

FieldErrors check_structural(const json::value& schema, const std::string& field) {
  Checker checker;
  if (schema.is_object()) {
    checker.schema(schema.as_object(), Level::Root, field);
  }
  return checker.take();
}

} // namespace berth::schema
