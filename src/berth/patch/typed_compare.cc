// What differs between two values.
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

/// A null side is an absent one; not both are absent.
class Comparer {
 public:
  explicit Comparer(Comparison& out) : out_(out) {}

  void compare(const Type& type, const json::value* left, const json::value* right) {
    const Atom of_left = atom_of(type, left);
    const Atom of_right = atom_of(type, right);
    bool leaf = false;
    if (right == nullptr) {
      leaf = walk(of_left, type, left, right);
    } else if (left == nullptr || same_atom(of_left, of_right)) {
      leaf = walk(of_right, type, left, right);
    } else { // an untyped value changed its form
      walk(of_left, type, left, right);
      leaf = walk(of_right, type, left, right);
    }
    if (!leaf && left == nullptr) {
      out_.added.insert(path_);
    } else if (!leaf && right == nullptr) {
      out_.removed.insert(path_);
    }
  }

 private:
  bool leaf(const json::value* left, const json::value* right) {
    if (left == nullptr) {
      out_.added.insert(path_);
    } else if (right == nullptr) {
      out_.removed.insert(path_);
    } else if (!same_value(*left, *right)) {
      out_.modified.insert(path_);
    }
    return true;
  }

  /// Whether the value was taken whole.
  bool walk(const Atom& atom, const Type& type, const json::value* left, const json::value* right) {
    if (atom.kind == Atom::Kind::Scalar || atom.atomic) {
      return leaf(left, right);
    }
    if (atom.kind == Atom::Kind::List) {
      const json::array* lefts = list_in(left);
      const json::array* rights = list_in(right);
      // Of two empty sides the whole counts, so that null, [] and nothing stay different.
      if ((lefts == nullptr || lefts->empty()) && (rights == nullptr || rights->empty())) {
        return leaf(left, right);
      }
      walk_list(type, lefts, rights);
      return false;
    }
    const json::object* lefts = map_in(left);
    const json::object* rights = map_in(right);
    if ((lefts == nullptr || lefts->empty()) && (rights == nullptr || rights->empty())) {
      return leaf(left, right);
    }
    walk_map(type, lefts, rights);
    return false;
  }

  void below(const PathElement& element, const Type* type, const json::value* left,
             const json::value* right) {
    path_.push_back(element);
    compare(type == nullptr ? deduced_type() : *type, left, right);
    path_.pop_back();
  }

  void walk_map(const Type& type, const json::object* left, const json::object* right) {
    for (std::size_t i = 0; left != nullptr && i < left->size(); ++i) {
      const auto& member = *(left->begin() + static_cast<std::ptrdiff_t>(i));
      const json::value* other = right == nullptr ? nullptr : right->if_contains(member.key());
      below(PathElement::field(member.key()), member_type(type, member.key()), &member.value(),
            other);
    }
    for (std::size_t i = 0; right != nullptr && i < right->size(); ++i) {
      const auto& member = *(right->begin() + static_cast<std::ptrdiff_t>(i));
      if (left == nullptr || !left->contains(member.key())) {
        below(PathElement::field(member.key()), member_type(type, member.key()), nullptr,
              &member.value());
      }
    }
  }

  void walk_list(const Type& type, const json::array* left, const json::array* right) {
    const KeyedList lefts(type, left);
    const KeyedList rights(type, right);
    FieldSet done;
    for (const KeyedList* list : {&lefts, &rights}) {
      for (const auto& [element, item] : list->order()) {
        if (!done.has_member(element)) {
          done.add(element, true, {});
          compare_elements(type, element, lefts.all(element), rights.all(element));
        }
      }
    }
  }

  // Elements whose key is there several times are compared as one whole.
  void compare_elements(const Type& type, const PathElement& element,
                        const std::vector<const json::value*>& left,
                        const std::vector<const json::value*>& right) {
    const Type* of = &element_type(type);
    if (left.size() <= 1 && right.size() <= 1) {
      return below(element, of, left.empty() ? nullptr : left.front(),
                   right.empty() ? nullptr : right.front());
    }
    FieldSet* whole = &out_.modified;
    if (right.size() <= 1) {
      whole = &out_.removed;
      if (!right.empty()) {
        below(element, of, nullptr, right.front());
      }
    } else if (left.size() <= 1) {
      whole = &out_.added;
      if (!left.empty()) {
        below(element, of, left.front(), nullptr);
      }
    } else if (std::ranges::equal(left, right, [](const json::value* a, const json::value* b) {
                 return same_value(*a, *b);
               })) {
      return;
    }
    path_.push_back(element);
    whole->insert(path_);
    path_.pop_back();
  }

  Comparison& out_;
  Path path_;
};

} // namespace

Comparison compare_typed(const Type& type, const json::value& left, const json::value& right) {
  Comparison out;
  Comparer(out).compare(type, &left, &right);
  return out;
}

Comparison without_trees(const Comparison& comparison, const FieldSet& ignored) {
  return {.removed = FieldSet::without_trees(comparison.removed, ignored),
          .modified = FieldSet::without_trees(comparison.modified, ignored),
          .added = FieldSet::without_trees(comparison.added, ignored)};
}

} // namespace berth::patch
