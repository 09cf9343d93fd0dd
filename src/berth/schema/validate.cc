#include "berth/schema/validate.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>
#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/api/same.h"
#include "berth/schema/format.h"
#include "berth/schema/lists.h"
#include "berth/schema/rules.h"

namespace berth::schema {
namespace {

namespace json = boost::json;

/// As JSON Schema calls what is there.
std::string_view kind_of(const json::value& value) {
  switch (value.kind()) {
  case json::kind::null:
    return "null";
  case json::kind::bool_:
    return "boolean";
  case json::kind::int64:
  case json::kind::uint64:
    return "integer";
  case json::kind::double_:
    return "number";
  case json::kind::string:
    return "string";
  case json::kind::array:
    return "array";
  case json::kind::object:
    return "object";
  }
  return "";
}

/// As JSON Schema calls what should be there; "" for anything.
std::string_view wanted(const Type& type) {
  return type.form == Form::IntOrString ? "integer,string" : json_name(type.form);
}

bool is_whole(const json::value& value) {
  return value.is_double() && std::trunc(value.get_double()) == value.get_double();
}

bool is_kind(const json::value& value, std::string_view type) {
  const std::string_view kind = kind_of(value);
  return type.empty() || kind == type ||
         (type == "integer,string" && (kind == "integer" || kind == "string" || is_whole(value))) ||
         (type == "integer" && is_whole(value)) || (type == "number" && kind == "integer");
}

std::string child(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : fmt::format("{}.{}", path, name);
}

std::int64_t characters(std::string_view text) {
  return std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; });
}

std::string shown(double number) {
  return api::to_json(json::value(number));
}

class Validator {
 public:
  FieldErrors take() { return std::move(errors_); }

  /// `old`: what stood in its place; null if nothing is known to have.
  void value(const json::value& value, const json::value* old, const Type& type,
             const std::string& path) {
    if (!type.structural) { // of the root, metadata has a type of its own that decoding has checked
      return;
    }
    const std::size_t before = errors_.size();
    judge(value, old, type, path);
    if (errors_.size() > before && old != nullptr && api::same(value, *old)) {
      errors_.erase(errors_.begin() + static_cast<std::ptrdiff_t>(before), errors_.end());
    }
  }

 private:
  void judge(const json::value& value, const json::value* old, const Type& type,
             const std::string& path) {
    const std::string_view type_name = wanted(type);
    if (value.is_null()) {
      if (!type_name.empty() && !type.nullable) {
        wrong_type(path, type_name, value);
      }
      return;
    }
    if (!is_kind(value, type_name)) {
      wrong_type(path, type_name, value);
    }
    if (type.rules) {
      junctors(value, *type.rules, path);
      scalar(value, *type.rules, path);
    }
    if (const auto* array = value.if_array()) {
      list(*array, old == nullptr ? nullptr : old->if_array(), type, path);
    }
    if (type.rules) {
      allowed(value, *type.rules, path);
    }
    if (const auto* object = value.if_object()) {
      members(*object, old == nullptr ? nullptr : old->if_object(), type, path);
    }
  }

  void wrong_type(const std::string& path, std::string_view type, const json::value& value) {
    const std::string_view kind = kind_of(value);
    add(type_invalid(named(path), json::value(kind),
                     fmt::format("{} in body must be of type {}: \"{}\"", path, type, kind)));
  }

  static std::string named(const std::string& path) { return path.empty() ? "<nil>" : path; }
  void add(FieldError error) { errors_.push_back(std::move(error)); }
  void invalid(const std::string& path, const json::value& value, const std::string& what) {
    add(invalid_value(named(path), value, fmt::format("{} in body {}", path, what)));
  }
  // Of what holds several rules together only the object as a whole is named.
  void composite(const std::string& path, std::string_view what) {
    add(invalid_value("<nil>", json::value(""), fmt::format("\"{}\" {}", path, what)));
  }

  // ---- rules of one value
  // ------------------------------------------------------------------------

  void scalar(const json::value& value, const Rules& rules, const std::string& path) {
    if (const auto* text = value.if_string()) {
      string(std::string_view(*text), rules, path);
    } else if (value.is_number()) {
      number(value, rules, path);
    }
  }

  void string(std::string_view text, const Rules& rules, const std::string& path) {
    if (rules.max_length && characters(text) > *rules.max_length) {
      add(too_long(named(path), *rules.max_length));
    } else if (rules.min_length && characters(text) < *rules.min_length) {
      invalid(path, json::value(text),
              fmt::format("should be at least {} chars long", *rules.min_length));
    } else if (rules.compiled && !rules.compiled->matches(text)) {
      invalid(path, json::value(text), fmt::format("should match '{}'", rules.pattern));
    }
    if (!rules.format.empty() && !has_format(text, rules.format)) {
      add(type_invalid(named(path), json::value(text),
                       fmt::format("{} in body must be of type {}: {}", path, rules.format,
                                   api::to_json(json::value(text)))));
    }
  }

  void number(const json::value& value, const Rules& rules, const std::string& path) {
    const auto given = value.to_number<double>();
    if (rules.multiple_of && *rules.multiple_of > 0) {
      const double quotient = given / *rules.multiple_of;
      if (std::trunc(quotient) != quotient) {
        invalid(path, value, "should be a multiple of " + shown(*rules.multiple_of));
      }
    }
    if (rules.maximum &&
        (given > *rules.maximum || (rules.exclusive_maximum && given == *rules.maximum))) {
      invalid(path, value,
              fmt::format("should be less than {}{}", rules.exclusive_maximum ? "" : "or equal to ",
                          shown(*rules.maximum)));
    }
    if (rules.minimum &&
        (given < *rules.minimum || (rules.exclusive_minimum && given == *rules.minimum))) {
      invalid(path, value,
              fmt::format("should be greater than {}{}",
                          rules.exclusive_minimum ? "" : "or equal to ", shown(*rules.minimum)));
    }
  }

  void allowed(const json::value& value, const Rules& rules, const std::string& path) {
    if (rules.one_of_values.empty() ||
        std::ranges::find(rules.one_of_values, value) != rules.one_of_values.end()) {
      return;
    }
    std::vector<std::string> supported;
    supported.reserve(rules.one_of_values.size());
    for (const json::value& one : rules.one_of_values) {
      supported.push_back(one.is_string() ? std::string(one.as_string()) : api::to_json(one));
    }
    add(not_supported(named(path), value, supported));
  }

  void lengths(const json::array& array, const Rules& rules, const std::string& path) {
    const auto size = static_cast<std::int64_t>(array.size());
    if (rules.min_items && size < *rules.min_items) {
      invalid(path, size, fmt::format("should have at least {} items", *rules.min_items));
    }
    if (rules.max_items && size > *rules.max_items) {
      add(too_many(named(path), size, *rules.max_items));
    }
    if (rules.unique_items) {
      for (auto at = array.begin(); at != array.end(); ++at) {
        if (std::find(array.begin(), at, *at) != at) {
          invalid(path, json::value(""), "shouldn't contain duplicates");
          return;
        }
      }
    }
  }

  /// Whether the object's other rules are still looked at.
  bool sizes(const json::object& object, const Rules& rules, const std::string& path) {
    const auto size = static_cast<std::int64_t>(object.size());
    if (rules.min_properties && size < *rules.min_properties) {
      invalid(path, size, fmt::format("should have at least {} properties", *rules.min_properties));
      return false;
    }
    if (rules.max_properties && size > *rules.max_properties) {
      add(too_many(named(path), size, *rules.max_properties));
      return false;
    }
    return true;
  }

  void required(const json::object& object, const Rules& rules, const std::string& path) {
    for (const std::string& name : rules.required) {
      if (!object.contains(name)) {
        add(required_value(child(path, name)));
      }
    }
  }

  // ---- what a value holds
  // ------------------------------------------------------------------------

  void list(const json::array& array, const json::array* old, const Type& type,
            const std::string& path) {
    if (type.form == Form::List) {
      for (std::size_t i = 0; i < array.size(); ++i) {
        value(array[i], same_element(type, array[i], old), *type.element,
              fmt::format("{}[{}]", path, i));
      }
    }
    if (type.rules) {
      lengths(array, *type.rules, path);
    }
  }

  void members(const json::object& object, const json::object* old, const Type& type,
               const std::string& path) {
    const auto before = [&](std::string_view name) {
      return old == nullptr || type.atomic ? nullptr : old->if_contains(name);
    };
    if (type.rules && !sizes(object, *type.rules, path)) {
      return;
    }
    if (type.form == Form::Map) {
      for (const auto& [name, member] : object) {
        value(member, before(name), *type.element, child(path, name));
      }
    }
    for (const Field& field : type.fields) {
      if (const json::value* member = object.if_contains(field.name)) {
        value(*member, before(field.name), *field.type, child(path, field.name));
      }
    }
    if (type.rules) {
      required(object, *type.rules, path);
      nested_members(object, *type.rules, path);
    }
  }

  void nested_members(const json::object& object, const Rules& rules, const std::string& path) {
    for (const auto& [name, of] : rules.properties) {
      if (const json::value* member = object.if_contains(name)) {
        nested(*member, of, child(path, name));
      }
    }
    if (rules.additional) {
      for (const auto& [name, member] : object) {
        if (!rules.properties.contains(std::string_view(name))) {
          nested(member, *rules.additional, child(path, name));
        }
      }
    }
  }

  // ---- rules held together
  // -----------------------------------------------------------------------

  void nested(const json::value& value, const Rules& rules, const std::string& path) {
    if (value.is_null()) {
      if (!rules.type.empty() && rules.type != "null") {
        wrong_type(path, rules.type, value);
      }
      allowed(value, rules, path);
      return;
    }
    if (!is_kind(value, rules.type)) {
      wrong_type(path, rules.type, value);
    }
    junctors(value, rules, path);
    scalar(value, rules, path);
    if (const auto* array = value.if_array()) {
      for (std::size_t i = 0; rules.items && i < array->size(); ++i) {
        nested((*array)[i], *rules.items, fmt::format("{}[{}]", path, i));
      }
      lengths(*array, rules, path);
    }
    allowed(value, rules, path);
    if (const auto* object = value.if_object(); object != nullptr && sizes(*object, rules, path)) {
      nested_members(*object, rules, path);
      required(*object, rules, path);
    }
  }

  static FieldErrors errors_of(const json::value& value, const Rules& rules,
                               const std::string& path) {
    Validator apart;
    apart.nested(value, rules, path);
    return apart.take();
  }

  void merge(FieldErrors errors) { std::ranges::move(errors, std::back_inserter(errors_)); }

  /// How many of the alternatives hold; the errors of the one that came nearest, if none does.
  struct Tried {
    std::size_t valid = 0;
    FieldErrors nearest;
  };
  static Tried try_all(const json::value& value, const std::vector<Rules>& alternatives,
                       const std::string& path) {
    Tried out;
    bool first = true;
    for (const Rules& rules : alternatives) {
      FieldErrors errors = errors_of(value, rules, path);
      if (errors.empty()) {
        ++out.valid;
      } else if (first || errors.size() < out.nearest.size()) {
        out.nearest = std::move(errors);
        first = false;
      }
    }
    if (out.valid > 0) {
      out.nearest.clear();
    }
    return out;
  }

  void junctors(const json::value& value, const Rules& rules, const std::string& path) {
    if (!rules.any_of.empty()) {
      Tried tried = try_all(value, rules.any_of, path);
      if (tried.valid == 0) {
        composite(path, "must validate at least one schema (anyOf)");
        merge(std::move(tried.nearest));
      }
    }
    if (!rules.one_of.empty()) {
      Tried tried = try_all(value, rules.one_of, path);
      if (tried.valid != 1) {
        composite(path, fmt::format("must validate one and only one schema (oneOf). {}",
                                    tried.valid == 0
                                        ? std::string("Found none valid")
                                        : fmt::format("Found {} valid alternatives", tried.valid)));
        merge(std::move(tried.nearest));
      }
    }
    if (!rules.all_of.empty()) {
      std::size_t valid = 0;
      for (const Rules& one : rules.all_of) {
        FieldErrors errors = errors_of(value, one, path);
        valid += errors.empty() ? 1 : 0;
        merge(std::move(errors));
      }
      if (valid != rules.all_of.size()) {
        composite(path, fmt::format("must validate all the schemas (allOf){}",
                                    valid == 0 ? ". None validated" : ""));
      }
    }
    if (rules.none_of && errors_of(value, *rules.none_of, path).empty()) {
      composite(path, "must not validate the schema (not)");
    }
  }

  FieldErrors errors_;
};

} // namespace

FieldErrors validate(const json::value& object, const Type& type, const json::value* before) {
  Validator validator;
  validator.value(object, before, type, "");
  FieldErrors out = validator.take();
  FieldErrors lists;
  check_lists(object, type, lists);
  if (!lists.empty() && before != nullptr) {
    FieldErrors old;
    check_lists(*before, type, old);
    if (!old.empty()) {
      lists.clear();
    }
  }
  std::ranges::move(lists, std::back_inserter(out));
  return out;
}

} // namespace berth::schema
