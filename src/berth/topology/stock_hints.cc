#include "berth/topology/stock_hints.h"

#include <algorithm>
#include <optional>
#include <tuple>

namespace berth::topology {
namespace {

constexpr int kMostEnumerated = 16;
constexpr std::size_t kMostOfOneSize = 1024;

NumaMask nodes_of(const std::vector<Stock>& stocks) {
  NumaMask nodes;
  for (const Stock& stock : stocks) {
    nodes = nodes | stock.nodes;
  }
  return nodes;
}

std::int64_t all_within(const std::vector<Stock>& stocks, NumaMask set) {
  std::int64_t sum = 0;
  for (const Stock& stock : stocks) {
    sum += stock.nodes.meets(set) ? stock.all : 0;
  }
  return sum;
}

// What a set has to give; none if it leaves a reusable thing out.
std::optional<std::int64_t> free_within(const std::vector<Stock>& stocks, NumaMask set) {
  std::int64_t sum = 0;
  for (const Stock& stock : stocks) {
    if (stock.nodes.meets(set)) {
      sum += stock.free + stock.reusable;
    } else if (stock.reusable > 0) {
      return std::nullopt;
    }
  }
  return sum;
}

// Nodes by what `of` gives them, the most first. `must` before all others.
template <class Of> std::vector<int> most_first(NumaMask nodes, NumaMask must, Of of) {
  std::vector<int> ids = nodes.ids();
  std::ranges::stable_sort(ids, {}, [&](int id) {
    const NumaMask node = NumaMask::single(id);
    return std::tuple(!must.has(id), -of(node));
  });
  return ids;
}

// All subsets of one size, ascending; stops above a limit.
std::vector<NumaMask> sets_of_size(const std::vector<int>& ids, int size, std::size_t limit) {
  std::vector<NumaMask> sets;
  std::vector<std::size_t> chosen(static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    chosen[i] = i;
  }
  while (chosen.size() <= ids.size()) {
    NumaMask set;
    for (const std::size_t place : chosen) {
      set = set | NumaMask::single(ids[place]);
    }
    sets.push_back(set);
    if (sets.size() > limit) {
      return sets;
    }
    // The last place that can still move does, and those after it close up.
    std::size_t moving = chosen.size();
    while (moving > 0 && chosen[moving - 1] == ids.size() - chosen.size() + moving - 1) {
      --moving;
    }
    if (moving == 0) {
      return sets;
    }
    ++chosen[moving - 1];
    for (std::size_t i = moving; i < chosen.size(); ++i) {
      chosen[i] = chosen[i - 1] + 1;
    }
  }
  return sets;
}

// The fewest nodes that hold `request` things, whoever has them; the number of nodes if none do.
int fewest_nodes(const std::vector<Stock>& stocks, NumaMask nodes, std::int64_t request) {
  if (nodes.count() > kMostEnumerated) {
    const auto all_of = [&](NumaMask set) { return all_within(stocks, set); };
    NumaMask set;
    for (const int id : most_first(nodes, NumaMask(), all_of)) {
      set = set | NumaMask::single(id);
      if (all_within(stocks, set) >= request) {
        return set.count();
      }
    }
    return nodes.count();
  }
  int fewest = nodes.count();
  for (const NumaMask set : candidate_sets(nodes, 0, {})) {
    if (set.count() < fewest && all_within(stocks, set) >= request) {
      fewest = set.count();
    }
  }
  return fewest;
}

} // namespace

std::vector<NumaMask> candidate_sets(NumaMask nodes, int fewest,
                                     const std::vector<int>& best_first) {
  std::vector<NumaMask> sets;
  if (nodes.count() <= kMostEnumerated) {
    // The next greater subset: carries run over the places that are no members.
    for (std::uint64_t bits = 0; bits != nodes.bits();) {
      bits = (bits - nodes.bits()) & nodes.bits();
      sets.emplace_back(bits);
    }
    return sets;
  }
  if (fewest > 0) {
    sets = sets_of_size(nodes.ids(), fewest, kMostOfOneSize);
    if (sets.size() > kMostOfOneSize) {
      sets.clear();
    }
  }
  NumaMask set;
  for (const int id : best_first) {
    set = set | NumaMask::single(id);
    sets.push_back(set);
  }
  std::ranges::sort(sets);
  const auto repeated = std::ranges::unique(sets);
  sets.erase(repeated.begin(), repeated.end());
  return sets;
}

StockHints stock_hints(const std::vector<Stock>& stocks, std::int64_t request) {
  const NumaMask nodes = nodes_of(stocks);
  StockHints found{.hints = {}, .fewest_nodes = fewest_nodes(stocks, nodes, request)};
  NumaMask must;
  for (const Stock& stock : stocks) {
    must = stock.reusable > 0 ? must | stock.nodes : must;
  }
  std::vector<int> best_first;
  if (nodes.count() > kMostEnumerated) {
    best_first = most_first(nodes, must, [&](NumaMask set) {
      std::int64_t sum = 0;
      for (const Stock& stock : stocks) {
        sum += stock.nodes.meets(set) ? stock.free : 0;
      }
      return sum;
    });
  }
  for (const NumaMask set : candidate_sets(nodes, found.fewest_nodes, best_first)) {
    const auto has = free_within(stocks, set);
    if (has && *has >= request) {
      found.hints.push_back({.affinity = set, .preferred = set.count() == found.fewest_nodes});
    }
  }
  return found;
}

} // namespace berth::topology
