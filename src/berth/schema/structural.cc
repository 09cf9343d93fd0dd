#include "berth/schema/structural.h"

#include <algorithm>
#include <map>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>
#include <fmt/format.h>

#include "berth/schema/arena.h"
#include "berth/schema/catalogue.h"
#include "berth/schema/rules.h"

namespace berth::schema {
namespace {

namespace json = boost::json;

const json::value* member(const json::object& of, std::string_view name) {
  const json::value* found = of.if_contains(name);
  return found == nullptr || found->is_null() ? nullptr : found;
}

std::string text(const json::object& of, std::string_view name) {
  const json::value* found = member(of, name);
  return found != nullptr && found->is_string() ? std::string(found->as_string()) : "";
}

bool flag(const json::object& of, std::string_view name) {
  const json::value* found = member(of, name);
  return found != nullptr && found->is_bool() && found->as_bool();
}

std::optional<double> number(const json::object& of, std::string_view name) {
  const json::value* found = member(of, name);
  return found != nullptr && found->is_number() ? std::optional(found->to_number<double>())
                                                : std::nullopt;
}

std::optional<std::int64_t> count(const json::object& of, std::string_view name) {
  const json::value* found = member(of, name);
  return found != nullptr && found->is_int64() ? std::optional(found->as_int64()) : std::nullopt;
}

const json::object* object(const json::object& of, std::string_view name) {
  const json::value* found = member(of, name);
  return found == nullptr ? nullptr : found->if_object();
}

std::vector<std::string> texts(const json::object& of, std::string_view name) {
  std::vector<std::string> out;
  if (const json::value* found = member(of, name); found != nullptr && found->is_array()) {
    for (const json::value& element : found->as_array()) {
      if (element.is_string()) {
        out.emplace_back(element.as_string());
      }
    }
  }
  return out;
}

class Builder {
 public:
  Result<TypePtr> root(const json::object& schema, std::string_view name) {
    Type& type = arena_->named(name);
    BERTH_CHECK(fill(type, schema));
    type.form = Form::Struct;
    add_object_fields(type);
    if (const json::object* properties = object(schema, "properties")) {
      if (const json::object* metadata = object(*properties, "metadata")) {
        Rules rules = type.rules ? *type.rules : Rules();
        BERTH_TRY(Rules of_metadata, nested(*metadata));
        rules.properties.emplace("metadata", std::move(of_metadata));
        type.rules = std::make_shared<const Rules>(std::move(rules));
      }
    }
    return pointer_into(arena_, type);
  }

 private:
  Result<void> fill(Type& type, const json::object& schema) {
    type.structural = true;
    type.description = text(schema, "description");
    type.nullable = flag(schema, "nullable");
    type.preserve_unknown = flag(schema, "x-kubernetes-preserve-unknown-fields");
    type.embedded = flag(schema, "x-kubernetes-embedded-resource");
    type.atomic = text(schema, "x-kubernetes-map-type") == "atomic";
    type.format = text(schema, "format");
    if (const json::value* otherwise = member(schema, "default")) {
      type.default_value = *otherwise;
    }
    BERTH_TRY(Rules rules, values(schema, type.format));
    BERTH_CHECK(fill_form(type, schema));
    if (type.embedded) {
      add_object_fields(type);
    }
    type.rules = shared(std::move(rules));
    return {};
  }

  Result<void> fill_form(Type& type, const json::object& schema) {
    const std::string form = text(schema, "type");
    if (flag(schema, "x-kubernetes-int-or-string")) {
      type.form = Form::IntOrString;
    } else if (form == "object") {
      return fill_object(type, schema);
    } else if (form == "array") {
      return fill_list(type, schema);
    } else if (form == "string") {
      type.form = Form::String;
    } else if (form == "integer") {
      type.form = Form::Integer;
    } else if (form == "number") {
      type.form = Form::Number;
    } else if (form == "boolean") {
      type.form = Form::Boolean;
    } else if (object(schema, "properties") != nullptr) {
      return fill_object(type, schema); // whose type is left open: preserve-unknown-fields
    }
    return {};
  }

  Result<void> fill_object(Type& type, const json::object& schema) {
    const json::object* properties = object(schema, "properties");
    const json::value* additional = member(schema, "additionalProperties");
    if (properties == nullptr && additional != nullptr && *additional != false) {
      type.form = Form::Map;
      Type& element = arena_->add();
      element.structural = true;
      type.element = &element;
      return additional->is_object() ? fill(element, additional->as_object()) : Result<void>{};
    }
    type.form = Form::Struct;
    if (properties == nullptr) {
      return {};
    }
    const std::vector<std::string> required = texts(schema, "required");
    type.fields.reserve(properties->size() + 3);
    for (const auto& [name, value] : *properties) {
      Field& field = type.fields.emplace_back();
      field.name = name;
      field.required = std::ranges::find(required, field.name) != required.end();
      Type& of = arena_->add();
      of.structural = true;
      field.type = &of;
      if (value.is_object()) {
        BERTH_CHECK(fill(of, value.as_object()));
      }
      field.description = of.description;
    }
    std::ranges::sort(type.fields, {}, &Field::name);
    return {};
  }

  Result<void> fill_list(Type& type, const json::object& schema) {
    type.form = Form::List;
    const std::string kind = text(schema, "x-kubernetes-list-type");
    type.list = kind == "map" ? ListKind::Map : kind == "set" ? ListKind::Set : ListKind::Atomic;
    type.list_keys = texts(schema, "x-kubernetes-list-map-keys");
    Type& element = arena_->add();
    element.structural = true;
    type.element = &element;
    const json::object* items = object(schema, "items");
    return items == nullptr ? Result<void>{} : fill(element, *items);
  }

  // Every object has these, whatever the schema says of them.
  void add_object_fields(Type& type) {
    for (const std::string_view name : {"apiVersion", "kind", "metadata"}) {
      auto at = std::ranges::lower_bound(type.fields, name, {}, &Field::name);
      if (at == type.fields.end() || at->name != name) {
        at = type.fields.insert(at, Field{.name = std::string(name)});
        Type& of = arena_->add();
        of.structural = true;
        of.form = Form::String;
        at->type = &of;
      }
      if (name == "metadata") {
        at->type = object_meta_.get();
      }
    }
  }

  static std::shared_ptr<const Rules> shared(Rules rules) {
    const bool nothing =
        rules.one_of_values.empty() && rules.pattern.empty() && rules.format.empty() &&
        !rules.min_length && !rules.max_length && !rules.min_items && !rules.max_items &&
        !rules.min_properties && !rules.max_properties && !rules.minimum && !rules.maximum &&
        !rules.multiple_of && !rules.unique_items && rules.required.empty() &&
        rules.all_of.empty() && rules.any_of.empty() && rules.one_of.empty() && !rules.none_of &&
        rules.properties.empty() && !rules.items && !rules.additional && rules.validations.empty();
    return nothing ? nullptr : std::make_shared<const Rules>(std::move(rules));
  }

  // The validations that stand beside `type`.
  Result<Rules> values(const json::object& schema, const std::string& format) {
    Rules out;
    if (const json::value* allowed = member(schema, "enum"); allowed && allowed->is_array()) {
      out.one_of_values.assign(allowed->as_array().begin(), allowed->as_array().end());
    }
    out.pattern = text(schema, "pattern");
    if (!out.pattern.empty()) {
      BERTH_TRY(out.compiled, compiled(out.pattern));
    }
    out.format = format;
    out.min_length = count(schema, "minLength");
    out.max_length = count(schema, "maxLength");
    out.min_items = count(schema, "minItems");
    out.max_items = count(schema, "maxItems");
    out.min_properties = count(schema, "minProperties");
    out.max_properties = count(schema, "maxProperties");
    out.minimum = number(schema, "minimum");
    out.maximum = number(schema, "maximum");
    out.multiple_of = number(schema, "multipleOf");
    out.exclusive_minimum = flag(schema, "exclusiveMinimum");
    out.exclusive_maximum = flag(schema, "exclusiveMaximum");
    out.unique_items = flag(schema, "uniqueItems");
    out.required = texts(schema, "required");
    BERTH_TRY(out.all_of, each(schema, "allOf"));
    if (!flag(schema, "x-kubernetes-int-or-string")) { // there anyOf says no more than that
      BERTH_TRY(out.any_of, each(schema, "anyOf"));
    }
    BERTH_TRY(out.one_of, each(schema, "oneOf"));
    if (const json::object* none = object(schema, "not")) {
      BERTH_TRY(Rules rules, nested(*none));
      out.none_of = std::make_shared<const Rules>(std::move(rules));
    }
    if (const json::value* cel = member(schema, "x-kubernetes-validations");
        cel != nullptr && cel->is_array()) {
      out.validations = cel->as_array();
    }
    return out;
  }

  Result<std::vector<Rules>> each(const json::object& schema, std::string_view junctor) {
    std::vector<Rules> out;
    if (const json::value* of = member(schema, junctor); of != nullptr && of->is_array()) {
      for (const json::value& element : of->as_array()) {
        if (element.is_object()) {
          BERTH_TRY(Rules rules, nested(element.as_object()));
          out.push_back(std::move(rules));
        }
      }
    }
    return out;
  }

  // Inside a junctor, rules of members and elements have no type to stand with.
  Result<Rules> nested(const json::object& schema) {
    BERTH_TRY(Rules out, values(schema, text(schema, "format")));
    out.type = text(schema, "type");
    if (const json::object* properties = object(schema, "properties")) {
      for (const auto& [name, value] : *properties) {
        if (value.is_object()) {
          BERTH_TRY(Rules rules, nested(value.as_object()));
          out.properties.emplace(name, std::move(rules));
        }
      }
    }
    if (const json::object* items = object(schema, "items")) {
      BERTH_TRY(Rules rules, nested(*items));
      out.items = std::make_shared<const Rules>(std::move(rules));
    }
    if (const json::object* additional = object(schema, "additionalProperties")) {
      BERTH_TRY(Rules rules, nested(*additional));
      out.additional = std::make_shared<const Rules>(std::move(rules));
    }
    return out;
  }

  // Schemas that hold pod templates repeat the same few expressions hundreds of times.
  Result<std::shared_ptr<const api::Pattern>> compiled(const std::string& expression) {
    if (const auto at = patterns_.find(expression); at != patterns_.end()) {
      return at->second;
    }
    BERTH_TRY(auto made, api::Pattern::compile(expression));
    patterns_.emplace(expression, made);
    return made;
  }

  std::shared_ptr<Arena> arena_ = std::make_shared<Arena>();
  TypePtr object_meta_ =
      Catalogue::builtin().named("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta");
  std::map<std::string, std::shared_ptr<const api::Pattern>> patterns_;
};

} // namespace

Result<TypePtr> structural_type(const json::value& schema, std::string_view name) {
  static const json::object kNothing;
  return Builder().root(schema.is_object() ? schema.as_object() : kNothing, name);
}

} // namespace berth::schema
