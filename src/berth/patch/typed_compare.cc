// What differs between two values.
#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/patch/atom.h"
#include "berth/patch/keyed_list.h"
#include "berth/patch/typed.h"

namespace berth::patch {
namespace {

using schema::Type;

const json::array* list_in(const json::value* value) {
  return value == nullptr ? nullptr : value->if_array();
}

const json::object* map_in(const json::value* value) {
  return value == nullptr ? nullptr : value->if_object();
}

bool same_atom(const Atom& a, const Atom& b) {
  return a.kind == b.kind && a.atomic == b.atomic;
}

/// How one value differs: itself, as a whole, and what is below it.
struct Differs {
  enum class Whole { No, Removed, Modified, Added };
  Whole whole = Whole::No;
  Comparison below;
};

/// `differs` of what is at `element` becomes part of what is below its parent.
void join(Comparison& parent, const PathElement& element, Differs differs) {
  using Whole = Differs::Whole;
  const auto add = [&](FieldSet& to, Whole kind, FieldSet& below) {
    if (differs.whole == kind || !below.empty()) { // most have nothing to add, and need no name
      to.add(element, differs.whole == kind, std::move(below));
    }
  };
  add(parent.removed, Whole::Removed, differs.below.removed);
  add(parent.modified, Whole::Modified, differs.below.modified);
  add(parent.added, Whole::Added, differs.below.added);
}

Differs::Whole absent_side(const json::value* left, const json::value* right) {
  return left == nullptr    ? Differs::Whole::Added
         : right == nullptr ? Differs::Whole::Removed
                            : Differs::Whole::No;
}

Differs difference(const Type& type, const json::value* left, const json::value* right);

void compare_maps(const Type& type, const json::object* left, const json::object* right,
                  Comparison& out) {
  const auto member = [&](std::string_view name, const json::value* of_left,
                          const json::value* of_right) {
    const Type* of = member_type(type, name);
    join(out, PathElement::field(name),
         difference(of == nullptr ? deduced_type() : *of, of_left, of_right));
  };
  if (left == nullptr || right == nullptr) { // sets are built fastest in order
    const bool adds = left == nullptr;
    std::vector<std::pair<std::string_view, const json::value*>> members;
    members.reserve((adds ? right : left)->size());
    for (const auto& [name, value] : *(adds ? right : left)) {
      members.emplace_back(name, &value);
    }
    std::ranges::sort(members);
    for (const auto& [name, value] : members) {
      member(name, adds ? nullptr : value, adds ? value : nullptr);
    }
    return;
  }
  for (const auto& [name, value] : *left) {
    member(name, &value, right->if_contains(name));
  }
  for (const auto& [name, value] : *right) {
    if (!left->contains(name)) {
      member(name, nullptr, &value);
    }
  }
}

// Elements whose key is there several times are compared as one whole.
void compare_elements(const Type& type, const PathElement& element, const KeyedList& lefts,
                      const KeyedList& rights, Comparison& out) {
  const Type& of = element_type(type);
  const auto left = lefts.all(element);
  const auto right = rights.all(element);
  const json::value* a = left.empty() ? nullptr : lefts.at(left.front());
  const json::value* b = right.empty() ? nullptr : rights.at(right.front());
  if (left.size() <= 1 && right.size() <= 1) {
    return join(out, element, difference(of, a, b));
  }
  FieldSet* whole = &out.modified;
  if (right.size() <= 1) {
    whole = &out.removed;
    if (b != nullptr) {
      join(out, element, difference(of, nullptr, b));
    }
  } else if (left.size() <= 1) {
    whole = &out.added;
    if (a != nullptr) {
      join(out, element, difference(of, a, nullptr));
    }
  } else if (std::ranges::equal(left, right, [&](std::size_t l, std::size_t r) {
               return same_value(*lefts.at(l), *rights.at(r));
             })) {
    return;
  }
  whole->add(element, true, {});
}

void compare_lists(const Type& type, const json::array* left, const json::array* right,
                   Comparison& out) {
  const KeyedList lefts(type, left);
  const KeyedList rights(type, right);
  for (const KeyedList* list : {&lefts, &rights}) {
    for (std::size_t i = 0; i < list->order().size(); ++i) {
      const PathElement& element = list->order()[i].first;
      const bool is_first = list->all(element).front() == i;
      if (is_first && (list == &lefts || !lefts.has(element))) {
        compare_elements(type, element, lefts, rights, out);
      }
    }
  }
}

/// Joins what differs between values that are both `atom`, or absent, to `out`; whether they were
/// compared as a whole.
bool walk(const Atom& atom, const Type& type, const json::value* left, const json::value* right,
          Differs& out) {
  const auto whole = [&] {
    out.whole = absent_side(left, right);
    if (out.whole == Differs::Whole::No && !same_value(*left, *right)) {
      out.whole = Differs::Whole::Modified;
    }
    return true;
  };
  if (atom.kind == Atom::Kind::Scalar || atom.atomic) {
    return whole();
  }
  // Of two empty sides the whole counts, so that null, [] and nothing stay different.
  const auto both_empty = [](const auto* a, const auto* b) {
    return (a == nullptr || a->empty()) && (b == nullptr || b->empty());
  };
  if (atom.kind == Atom::Kind::List) {
    const json::array* lefts = list_in(left);
    const json::array* rights = list_in(right);
    if (both_empty(lefts, rights)) {
      return whole();
    }
    compare_lists(type, lefts, rights, out.below);
    return false;
  }
  const json::object* lefts = map_in(left);
  const json::object* rights = map_in(right);
  if (both_empty(lefts, rights)) {
    return whole();
  }
  compare_maps(type, lefts, rights, out.below);
  return false;
}

/// A null side is an absent one; not both are absent.
Differs difference(const Type& type, const json::value* left, const json::value* right) {
  Differs out;
  // Most of two versions of an object is equal: looked at again at each level on the way to what is
  // not, which costs less than naming every field.
  if (left != nullptr && right != nullptr && same_value(*left, *right)) {
    return out;
  }
  const Atom of_left = atom_of(type, left);
  const Atom of_right = atom_of(type, right);
  bool whole = false;
  if (right == nullptr) {
    whole = walk(of_left, type, left, right, out);
  } else if (left == nullptr || same_atom(of_left, of_right)) {
    whole = walk(of_right, type, left, right, out);
  } else { // an untyped value changed its form
    walk(of_left, type, left, right, out);
    whole = walk(of_right, type, left, right, out);
  }
  if (!whole && (left == nullptr || right == nullptr)) {
    out.whole = absent_side(left, right);
  }
  return out;
}

} // namespace

Comparison compare_typed(const Type& type, const json::value& left, const json::value& right) {
  return difference(type, &left, &right).below;
}

Comparison without_trees(Comparison comparison, const FieldSet& ignored) {
  return {.removed = FieldSet::without_trees(std::move(comparison.removed), ignored),
          .modified = FieldSet::without_trees(std::move(comparison.modified), ignored),
          .added = FieldSet::without_trees(std::move(comparison.added), ignored)};
}

} // namespace berth::patch
