#include "berth/patch/field_set.h"

#include <algorithm>

namespace berth::patch {
namespace {

bool before(const FieldSet::Node& node, const PathElement& element) {
  return compare(node.element, element) < 0;
}

} // namespace

FieldSet::Node& FieldSet::node(PathElement element) {
  const bool is_last = nodes_.empty() || before(nodes_.back(), element); // most come in order
  auto at =
      is_last ? nodes_.end() : std::lower_bound(nodes_.begin(), nodes_.end(), element, before);
  if (at == nodes_.end() || !(at->element == element)) {
    at = nodes_.insert(at, {.element = std::move(element), .member = false, .below = {}});
  }
  return *at;
}

const FieldSet::Node* FieldSet::find(const PathElement& element) const {
  const auto at = std::lower_bound(nodes_.begin(), nodes_.end(), element, before);
  return at != nodes_.end() && at->element == element ? &*at : nullptr;
}

void FieldSet::insert(std::span<const PathElement> path) {
  FieldSet* set = this;
  for (std::size_t i = 0; i < path.size(); ++i) {
    Node& step = set->node(path[i]);
    step.member = step.member || i + 1 == path.size();
    set = &step.below;
  }
}

void FieldSet::insert(std::initializer_list<std::string_view> names) {
  Path path;
  for (const std::string_view name : names) {
    path.push_back(PathElement::field(name));
  }
  insert(path);
}

bool FieldSet::has(std::span<const PathElement> path) const {
  const FieldSet* set = this;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const Node* step = set->find(path[i]);
    if (step == nullptr) {
      return false;
    }
    if (i + 1 == path.size()) {
      return step->member;
    }
    set = &step->below;
  }
  return false;
}

std::size_t FieldSet::size() const {
  std::size_t count = 0;
  for (const Node& step : nodes_) {
    count += (step.member ? 1U : 0U) + step.below.size();
  }
  return count;
}

const FieldSet& FieldSet::under(const PathElement& element) const {
  static const FieldSet kEmpty;
  const Node* step = find(element);
  return step == nullptr ? kEmpty : step->below;
}

bool FieldSet::has_member(const PathElement& element) const {
  const Node* step = find(element);
  return step != nullptr && step->member;
}

void FieldSet::add(PathElement element, bool member, FieldSet below) {
  if (!member && below.empty()) {
    return;
  }
  Node& step = node(std::move(element));
  step.member = step.member || member;
  step.below = united(std::move(step.below), std::move(below));
}

void FieldSet::each(const std::function<void(const Path&)>& visit) const {
  Path prefix;
  each_below(prefix, visit);
}

void FieldSet::each_below(Path& prefix, const std::function<void(const Path&)>& visit) const {
  for (const Node& step : nodes_) {
    if (step.member) {
      prefix.push_back(step.element);
      visit(prefix);
      prefix.pop_back();
    }
  }
  for (const Node& step : nodes_) {
    prefix.push_back(step.element);
    step.below.each_below(prefix, visit);
    prefix.pop_back();
  }
}

FieldSet FieldSet::united(FieldSet a, FieldSet b) {
  if (a.empty() || b.empty()) {
    return a.empty() ? std::move(b) : std::move(a);
  }
  FieldSet out;
  out.nodes_.reserve(std::max(a.nodes_.size(), b.nodes_.size()));
  auto l = a.nodes_.begin();
  auto r = b.nodes_.begin();
  while (l != a.nodes_.end() || r != b.nodes_.end()) {
    const int order = l == a.nodes_.end()   ? 1
                      : r == b.nodes_.end() ? -1
                                            : compare(l->element, r->element);
    Node& node = out.nodes_.emplace_back(std::move(order <= 0 ? *l : *r));
    if (order == 0) {
      node.member = node.member || r->member;
      node.below = united(std::move(node.below), std::move(r->below));
    }
    l += order <= 0 ? 1 : 0;
    r += order >= 0 ? 1 : 0;
  }
  return out;
}

/// Walks both in order: `keep` says of a step that `by` lacks whether it stays, `both` changes one
/// that `by` has too. What has no members any more goes.
template <class Both> void FieldSet::filter(const FieldSet& by, bool keep, const Both& both) {
  auto r = by.nodes_.begin();
  std::erase_if(nodes_, [&](Node& node) {
    int order = 1;
    while (r != by.nodes_.end() && (order = compare(node.element, r->element)) > 0) {
      ++r;
    }
    if (r == by.nodes_.end() || order < 0) {
      return !keep;
    }
    both(node, *r);
    return !node.member && node.below.empty();
  });
}

FieldSet FieldSet::common(FieldSet a, const FieldSet& b) {
  a.filter(b, false, [](Node& node, const Node& other) {
    node.member = node.member && other.member;
    node.below = common(std::move(node.below), other.below);
  });
  return a;
}

FieldSet FieldSet::without(FieldSet a, const FieldSet& b) {
  a.filter(b, true, [](Node& node, const Node& other) {
    node.member = node.member && !other.member;
    node.below = without(std::move(node.below), other.below);
  });
  return a;
}

FieldSet FieldSet::without_trees(FieldSet a, const FieldSet& b) {
  a.filter(b, true, [](Node& node, const Node& other) {
    node.member = node.member && !other.member;
    node.below = other.member ? FieldSet() : without_trees(std::move(node.below), other.below);
  });
  return a;
}

std::string to_string(const FieldSet& set) {
  std::string out;
  set.each([&](const Path& path) { out += (out.empty() ? "" : "\n") + to_string(path); });
  return out;
}

} // namespace berth::patch
