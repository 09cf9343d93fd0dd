// The merge of topology hints as its rules are written, for tests and fuzzing: slow, and plain
// enough to be believed.
#pragma once

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "berth/topology/hint_merge.h"

namespace berth::test {

/// Every combination, one compared with the best so far. Lives as long as one expression.
class SlowHintMerge {
 public:
  SlowHintMerge(const topology::MergeRules& rules, const topology::Machine& machine)
      : rules_(rules), machine_(machine) {}

  topology::Hint merge(const std::vector<std::vector<topology::Hint>>& lists) {
    for (const auto& list : lists) {
      int least = std::numeric_limits<int>::max();
      for (const topology::Hint& hint : list) {
        if (hint.affinity) {
          least = std::min(least, hint.affinity->count());
        }
      }
      if (least != std::numeric_limits<int>::max()) {
        wanted_ = std::max(wanted_, least);
      }
    }
    combine(lists, 0, rules_.all, std::nullopt, true);
    return best_.value_or(topology::Hint{.affinity = rules_.all, .preferred = false});
  }

 private:
  void combine(const std::vector<std::vector<topology::Hint>>& lists, std::size_t at,
               topology::NumaMask shared, std::optional<topology::NumaMask> first, bool preferred) {
    if (at == lists.size()) {
      if (!shared.empty()) {
        consider({.affinity = shared, .preferred = preferred});
      }
      return;
    }
    for (const topology::Hint& hint : lists[at]) {
      const bool equal = !first || !hint.affinity || *first == *hint.affinity;
      combine(lists, at + 1, hint.affinity ? shared & *hint.affinity : shared,
              first ? first : hint.affinity, preferred && hint.preferred && equal);
    }
  }
  double average(topology::NumaMask mask) const {
    double sum = 0;
    double pairs = 0;
    for (const int a : mask.ids()) {
      for (const int b : mask.ids()) {
        sum += machine_.distance(a, b);
        ++pairs;
      }
    }
    return sum / pairs;
  }
  bool better(topology::NumaMask candidate, topology::NumaMask current) const {
    if (candidate.count() != current.count()) {
      return candidate.count() < current.count();
    }
    if (rules_.nearness == topology::MergeRules::Nearness::Counts &&
        average(candidate) != average(current)) {
      return average(candidate) < average(current);
    }
    return candidate.bits() < current.bits();
  }
  void consider(const topology::Hint& candidate) {
    if (!best_ || replaces(candidate, *best_)) {
      best_ = candidate;
    }
  }
  bool replaces(const topology::Hint& candidate, const topology::Hint& current) const {
    if (candidate.preferred != current.preferred) {
      return candidate.preferred;
    }
    const topology::NumaMask a = *candidate.affinity;
    const topology::NumaMask b = *current.affinity;
    if (candidate.preferred || b.count() > wanted_) {
      return better(a, b);
    }
    if (b.count() == wanted_) {
      return a.count() == wanted_ && better(a, b);
    }
    if (a.count() > wanted_) {
      return false;
    }
    if (a.count() == wanted_) {
      return true;
    }
    return a.count() != b.count() ? a.count() > b.count() : better(a, b);
  }

  const topology::MergeRules& rules_;
  const topology::Machine& machine_;
  int wanted_ = 0;
  std::optional<topology::Hint> best_;
};

} // namespace berth::test
