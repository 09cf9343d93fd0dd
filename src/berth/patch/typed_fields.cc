// The fields that a value mentions.
#include "berth/patch/atom.h"
#include "berth/patch/keyed_list.h"
#include "berth/patch/typed.h"

namespace berth::patch {
namespace {

using schema::Type;

/// What `value` says of the step that leads to it.
struct Below {
  bool leaf = false; ///< the step itself is a field
  FieldSet fields;
};

Below below(const Type& type, const json::value& value);

FieldSet fields_of_map(const Type& type, const json::object& object) {
  FieldSet out;
  for (const auto& [key, member] : object) {
    const Type* of = member_type(type, key);
    Below found = below(of == nullptr ? deduced_type() : *of, member);
    out.add(PathElement::field(key), found.leaf || !is_named(type, key), std::move(found.fields));
  }
  return out;
}

FieldSet fields_of_list(const Type& type, const json::array& array) {
  FieldSet out;
  const KeyedList list(type, &array);
  for (const auto& [element, item] : list.order()) {
    const bool alone = list.all(element).size() == 1;
    out.add(element, true, alone ? below(element_type(type), *item).fields : FieldSet());
  }
  return out;
}

Below below(const Type& type, const json::value& value) {
  const Atom atom = atom_of(type, &value);
  if (atom.kind == Atom::Kind::Scalar || atom.atomic) {
    return {.leaf = true, .fields = {}};
  }
  if (atom.kind == Atom::Kind::List) {
    return {.leaf = false,
            .fields = value.is_array() ? fields_of_list(type, value.get_array()) : FieldSet()};
  }
  return {.leaf = false,
          .fields = value.is_object() ? fields_of_map(type, value.get_object()) : FieldSet()};
}

} // namespace

FieldSet fields_of(const Type& type, const json::value& value) {
  return below(type, value).fields;
}

FieldSet with_named_parents(const FieldSet& set, const Type& type) {
  FieldSet out;
  for (const FieldSet::Node& node : set.nodes()) {
    const bool field = node.element.kind == PathElement::Kind::Field;
    const Type* of = field ? member_type(type, node.element.name) : &element_type(type);
    const bool named = field && is_named(type, node.element.name);
    out.add(node.element, node.member || (named && !node.below.empty()),
            with_named_parents(node.below, of == nullptr ? deduced_type() : *of));
  }
  return out;
}

namespace {

// `live` is null where the object no longer has what the set names.
FieldSet reconciled(const FieldSet& set, const Type& type, const json::value* live) {
  const json::object* members = live == nullptr ? nullptr : live->if_object();
  std::optional<KeyedList> items; // made when a path goes through a list
  FieldSet out;
  for (const FieldSet::Node& node : set.nodes()) {
    const bool field = node.element.kind == PathElement::Kind::Field;
    const Type* of = field ? member_type(type, node.element.name) : &element_type(type);
    const json::value* value = nullptr;
    if (field) {
      value = members == nullptr ? nullptr : members->if_contains(node.element.name);
    } else if (live != nullptr && live->is_array()) {
      if (!items) {
        items.emplace(type, &live->get_array());
      }
      value = items->only(node.element);
    }
    const Atom atom = of == nullptr ? Atom{} : atom_of(*of, value);
    if (of == nullptr || atom.kind == Atom::Kind::Scalar) {
      out.add(node.element, node.member, node.below);
    } else if (atom.atomic) {
      out.add(node.element, true, {});
    } else if (node.below.empty() && value != nullptr) {
      out.add(node.element, true, fields_of(*of, *value));
    } else {
      out.add(node.element, node.member, reconciled(node.below, *of, value));
    }
  }
  return out;
}

} // namespace

FieldSet under_type(const FieldSet& set, const Type& type, const json::value& live) {
  return type.form == schema::Form::Any ? set : reconciled(set, type, &live);
}

} // namespace berth::patch
