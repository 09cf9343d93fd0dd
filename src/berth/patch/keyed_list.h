// The elements of a set or of a list with keys, found by their path elements.
#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "berth/patch/atom.h"

namespace berth::patch {

/// Elements that have no path element (stored before a schema changed) are left out of `order`.
/// Lookups are O(log n).
class KeyedList {
  struct Before {
    bool operator()(const PathElement& a, const PathElement& b) const { return compare(a, b) < 0; }
  };
  auto key() const {
    return [this](std::size_t place) -> const PathElement& { return order_[place].first; };
  }

 public:
  using Element = std::pair<PathElement, const json::value*>;

  KeyedList(const schema::Type& list, const json::array* items) {
    order_.reserve(items == nullptr ? 0 : items->size());
    for (std::size_t i = 0; items != nullptr && i < items->size(); ++i) {
      if (auto element = element_of(list, (*items)[i])) {
        by_key_.push_back(order_.size());
        order_.emplace_back(std::move(*element), &(*items)[i]);
      }
    }
    std::ranges::stable_sort(by_key_, Before(), key());
  }

  /// Every element in its place, duplicates too.
  const std::vector<Element>& order() const { return order_; }
  /// Places in order() of all elements of this key, first to last; empty if there are none.
  std::span<const std::size_t> all(const PathElement& element) const {
    const auto found = std::ranges::equal_range(by_key_, element, Before(), key());
    return {found.begin(), found.end()};
  }
  bool has(const PathElement& element) const { return !all(element).empty(); }
  const json::value* at(std::size_t place) const { return order_[place].second; }
  /// The element of this key; null if there is none or there are several.
  const json::value* only(const PathElement& element) const {
    const auto some = all(element);
    return some.size() == 1 ? at(some.front()) : nullptr;
  }

 private:
  std::vector<Element> order_;
  std::vector<std::size_t> by_key_; ///< places in `order_`, sorted by their keys
};

} // namespace berth::patch
