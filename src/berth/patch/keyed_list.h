// The elements of a set or of a list with keys, found by their path elements.
#pragma once

#include <algorithm>
#include <map>
#include <vector>

#include "berth/patch/atom.h"

namespace berth::patch {

/// Elements that have no path element (stored before a schema changed) are left out of `order`.
class KeyedList {
 public:
  KeyedList(const schema::Type& list, const json::array* items) {
    for (std::size_t i = 0; items != nullptr && i < items->size(); ++i) {
      if (auto element = element_of(list, (*items)[i])) {
        found_[*element].push_back(&(*items)[i]);
        order_.emplace_back(std::move(*element), &(*items)[i]);
      }
    }
  }

  /// Every element in its place, duplicates too.
  const std::vector<std::pair<PathElement, const json::value*>>& order() const { return order_; }
  /// All elements of this key, first to last; empty if there are none.
  const std::vector<const json::value*>& all(const PathElement& element) const {
    static const std::vector<const json::value*> kNone;
    const auto at = found_.find(element);
    return at == found_.end() ? kNone : at->second;
  }
  bool has(const PathElement& element) const { return found_.contains(element); }
  /// The element of this key; null if there is none or there are several.
  const json::value* only(const PathElement& element) const {
    const auto& some = all(element);
    return some.size() == 1 ? some.front() : nullptr;
  }

 private:
  struct Before {
    bool operator()(const PathElement& a, const PathElement& b) const { return compare(a, b) < 0; }
  };
  std::vector<std::pair<PathElement, const json::value*>> order_;
  std::map<PathElement, std::vector<const json::value*>, Before> found_;
};

} // namespace berth::patch
