// Sets of fields: what a manager owns, what a write changed. A set is a tree, because a field may
// belong to it without its parents. Source: structured-merge-diff's fieldpath/set.go.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "berth/patch/path.h"

namespace berth::patch {

/// A value. Invariant: nodes are ordered and each is a member or has members below it. Operations
/// on two sets are linear in their sizes.
class FieldSet {
 public:
  struct Node;

  /// Adds the field, not its parents. The whole object (an empty path) belongs to nobody.
  void insert(std::span<const PathElement> path);
  void insert(std::initializer_list<std::string_view> names);
  bool has(std::span<const PathElement> path) const;
  bool empty() const;
  /// How many members.
  std::size_t size() const;

  /// The set below one step; an empty one if there is none.
  const FieldSet& under(const PathElement& element) const;
  bool has_member(const PathElement& element) const;
  /// This step added as a member, with `below` under it joined to what is there.
  void add(PathElement element, bool member, FieldSet below);

  const std::vector<Node>& nodes() const { return nodes_; }
  /// Every member: those of a level before those below it, as conflicts are listed.
  void each(const std::function<void(const Path&)>& visit) const;

  bool operator==(const FieldSet& other) const;

  // What is passed by value is made the result: move it there when it is not needed any more.

  /// In either.
  static FieldSet united(FieldSet a, FieldSet b);
  /// In both.
  static FieldSet common(FieldSet a, const FieldSet& b);
  /// In `a`, not in `b`; a member of `b` leaves what `a` has below it.
  static FieldSet without(FieldSet a, const FieldSet& b);
  /// In `a`, neither in `b` nor below a member of `b`.
  static FieldSet without_trees(FieldSet a, const FieldSet& b);

 private:
  template <class Both> void filter(const FieldSet& by, bool keep, const Both& both);
  void each_below(Path& prefix, const std::function<void(const Path&)>& visit) const;
  Node& node(PathElement element);
  const Node* find(const PathElement& element) const;

  std::vector<Node> nodes_;
};

struct FieldSet::Node {
  PathElement element;
  bool member = false;
  FieldSet below;

  bool operator==(const Node&) const = default;
};

inline bool FieldSet::operator==(const FieldSet& other) const {
  return nodes_ == other.nodes_;
}
inline bool FieldSet::empty() const {
  return nodes_.empty();
}

/// One path a line: ".spec.replicas\n.spec.template".
std::string to_string(const FieldSet& set);

} // namespace berth::patch
