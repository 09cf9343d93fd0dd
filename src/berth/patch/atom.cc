#include "berth/patch/atom.h"

#include <fmt/format.h>

namespace berth::patch {

using schema::Form;
using schema::ListKind;
using schema::Type;

const Type& deduced_type() {
  static const Type kDeduced = [] {
    Type type;
    type.form = Form::Any;
    type.preserve_unknown = true;
    return type;
  }();
  return kDeduced;
}

Atom atom_of(const Type& type, const json::value* value) {
  switch (type.form) {
  case Form::Any:
    if (value != nullptr && value->is_array()) {
      return {.kind = Atom::Kind::List, .atomic = true};
    }
    if (value != nullptr && !value->is_object() && !value->is_null()) {
      return {.kind = Atom::Kind::Scalar};
    }
    return {.kind = Atom::Kind::Map, .atomic = !type.preserve_unknown};
  case Form::Struct:
  case Form::Map:
    return {.kind = Atom::Kind::Map, .atomic = type.atomic};
  case Form::List:
    return {.kind = Atom::Kind::List, .atomic = type.list == ListKind::Atomic};
  case Form::Boolean:
  case Form::Integer:
  case Form::Number:
  case Form::String:
  case Form::IntOrString:
  case Form::Quantity:
    return {.kind = Atom::Kind::Scalar};
  }
  return {};
}

const Type* member_type(const Type& type, std::string_view name) {
  if (const schema::Field* field = type.form == Form::Struct ? type.field(name) : nullptr) {
    return field->type;
  }
  if (type.form == Form::Map && type.element != nullptr) {
    return type.element;
  }
  return type.form != Form::Struct || type.preserve_unknown ? &deduced_type() : nullptr;
}

bool is_named(const Type& type, std::string_view name) {
  return type.form == Form::Struct && type.field(name) != nullptr;
}

const Type& element_type(const Type& list) {
  return list.form == Form::List && list.element != nullptr ? *list.element : deduced_type();
}

namespace {

Result<PathElement> keyed(const Type& list, const json::value& item) {
  if (item.is_null()) {
    return fail(Code::Invalid, "associative list with keys may not have a null element");
  }
  if (!item.is_object()) {
    return fail(Code::Invalid, "associative list with keys may not have non-map elements");
  }
  std::vector<std::pair<std::string, json::value>> keys;
  for (const std::string& key : list.list_keys) {
    const schema::Field* field = element_type(list).field(key);
    if (const json::value* value = item.get_object().if_contains(key)) {
      keys.emplace_back(key, *value);
    } else if (field != nullptr && field->type->default_value) {
      keys.emplace_back(key, *field->type->default_value);
    } else {
      return fail(Code::Invalid,
                  fmt::format("associative list with keys has an element that omits key field "
                              "\"{}\" (and doesn't have default value)",
                              key));
    }
  }
  return PathElement::key(std::move(keys));
}

} // namespace

Result<PathElement> element_of(const Type& list, const json::value& item) {
  if (list.list == ListKind::Map) {
    return keyed(list, item);
  }
  switch (item.kind()) {
  case json::kind::object:
    return fail(Code::Invalid, "associative list without keys has an element that's a map type");
  case json::kind::array:
    return fail(Code::Invalid, "not supported: associative list with lists as elements");
  case json::kind::null:
    return fail(Code::Invalid,
                "associative list without keys has an element that's an explicit null");
  default:
    return PathElement::item(item);
  }
}

} // namespace berth::patch
