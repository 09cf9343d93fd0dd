#include "berth/patch/field_set.h"

#include <algorithm>

namespace berth::patch {
namespace {

/// Walks two ordered lists of nodes; `keep` says what becomes of a step that either may lack.
template <class Keep>
std::vector<FieldSet::Node> zipped(const std::vector<FieldSet::Node>& left,
                                   const std::vector<FieldSet::Node>& right, const Keep& keep) {
  std::vector<FieldSet::Node> out;
  auto l = left.begin();
  auto r = right.begin();
  while (l != left.end() || r != right.end()) {
    const int order = l == left.end() ? 1 : r == right.end() ? -1 : compare(l->element, r->element);
    FieldSet::Node node = keep(order <= 0 ? &*l : nullptr, order >= 0 ? &*r : nullptr);
    if (node.member || !node.below.empty()) {
      out.push_back(std::move(node));
    }
    l += order <= 0 ? 1 : 0;
    r += order >= 0 ? 1 : 0;
  }
  return out;
}

bool before(const FieldSet::Node& node, const PathElement& element) {
  return compare(node.element, element) < 0;
}

} // namespace

FieldSet::Node& FieldSet::node(const PathElement& element) {
  auto at = std::ranges::lower_bound(
      nodes_, element, [](const PathElement& a, const PathElement& b) { return compare(a, b) < 0; },
      &Node::element);
  if (at == nodes_.end() || !(at->element == element)) {
    Node made;
    made.element = element;
    at = nodes_.insert(at, std::move(made));
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

void FieldSet::add(const PathElement& element, bool member, const FieldSet& below) {
  if (!member && below.empty()) {
    return;
  }
  Node& step = node(element);
  step.member = step.member || member;
  step.below = step.below.empty() ? below : united(step.below, below);
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

FieldSet FieldSet::united(const FieldSet& a, const FieldSet& b) {
  FieldSet out;
  out.nodes_ = zipped(a.nodes_, b.nodes_, [](const Node* left, const Node* right) {
    if (left == nullptr || right == nullptr) {
      return left == nullptr ? *right : *left;
    }
    return Node{left->element, left->member || right->member, united(left->below, right->below)};
  });
  return out;
}

FieldSet FieldSet::common(const FieldSet& a, const FieldSet& b) {
  FieldSet out;
  out.nodes_ = zipped(a.nodes_, b.nodes_, [](const Node* left, const Node* right) {
    if (left == nullptr || right == nullptr) {
      return Node{};
    }
    return Node{left->element, left->member && right->member, common(left->below, right->below)};
  });
  return out;
}

FieldSet FieldSet::without(const FieldSet& a, const FieldSet& b) {
  FieldSet out;
  out.nodes_ = zipped(a.nodes_, b.nodes_, [](const Node* left, const Node* right) {
    if (left == nullptr || right == nullptr) {
      return left == nullptr ? Node{} : *left;
    }
    return Node{left->element, left->member && !right->member, without(left->below, right->below)};
  });
  return out;
}

FieldSet FieldSet::without_trees(const FieldSet& a, const FieldSet& b) {
  FieldSet out;
  out.nodes_ = zipped(a.nodes_, b.nodes_, [](const Node* left, const Node* right) {
    if (left == nullptr || right == nullptr) {
      return left == nullptr ? Node{} : *left;
    }
    return right->member
               ? Node{}
               : Node{left->element, left->member, without_trees(left->below, right->below)};
  });
  return out;
}

std::string to_string(const FieldSet& set) {
  std::string out;
  set.each([&](const Path& path) { out += (out.empty() ? "" : "\n") + to_string(path); });
  return out;
}

} // namespace berth::patch
