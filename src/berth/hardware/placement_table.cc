#include "berth/hardware/placement_table.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <set>

#include "berth/hardware/collective_model.h"

namespace berth::hardware {

namespace {

constexpr std::array<int, 4> kGroupSizes{16, 8, 4, 2};

/// All-reduce above, Span below, so that sums over at most 8 groups compare in that order: 16 * 8
/// fits a byte.
std::int64_t group_value(std::int64_t all_reduce, const Span& span) {
  const std::int64_t cost = (std::int64_t{span.sockets} << 24) | (span.numa_nodes << 16) |
                            (span.top_switches << 8) | span.switches;
  return (all_reduce << 32) - cost;
}

/// best[rest]: the best sum of group values over cuts of `rest` into as many groups of `size` as it
/// has room for.
std::vector<std::int64_t> best_cuts(const std::vector<std::int64_t>& value, int size) {
  std::vector<std::int64_t> best(value.size(), 0);
  for (GpuMask rest = 1; rest < value.size(); ++rest) {
    const int count = std::popcount(rest);
    if (count < size) {
      continue;
    }
    std::int64_t most = INT64_MIN;
    if (count % size != 0) {
      for (GpuMask left = rest; left != 0; left &= left - 1) {
        most = std::max(most, best[rest & ~(left & -left)]);
      }
    } else {
      // The lowest GPU is in some group: try each. `others` runs over the subsets of the remaining
      // ones.
      const GpuMask lowest = rest & -rest;
      const GpuMask remaining = rest & ~lowest;
      for (GpuMask others = remaining; others != 0; others = (others - 1) & remaining) {
        if (std::popcount(others) == size - 1) {
          most = std::max(most, value[others | lowest] + best[remaining & ~others]);
        }
      }
    }
    best[rest] = most;
  }
  return best;
}

} // namespace

Span span_of(const Platform& platform, GpuMask gpus) {
  std::set<int> sockets;
  std::set<int> numa_nodes;
  std::set<int> tops;
  std::set<int> switches;
  for (GpuMask rest = gpus; rest != 0; rest &= rest - 1) {
    const auto& gpu = platform.gpus[std::countr_zero(rest)];
    const int on_root = -1 - gpu.root_complex;
    sockets.insert(platform.socket_of(gpu.numa));
    numa_nodes.insert(gpu.numa);
    tops.insert(gpu.pcie_switch < 0 ? on_root : platform.top_switch(gpu.pcie_switch));
    switches.insert(gpu.pcie_switch < 0 ? on_root : gpu.pcie_switch);
  }
  return {.sockets = static_cast<int>(sockets.size()),
          .numa_nodes = static_cast<int>(numa_nodes.size()),
          .top_switches = static_cast<int>(tops.size()),
          .switches = static_cast<int>(switches.size())};
}

PlacementTable::PlacementTable(const Platform& platform)
    : all_((GpuMask{1} << platform.gpus.size()) - 1),
      entries_(std::size_t{1} << platform.gpus.size()) {
  std::vector<std::uint32_t> distances;
  for (const auto& gpu : platform.gpus) {
    distances.push_back(static_cast<std::uint32_t>(nic_distance(platform, gpu.index)));
  }
  for (GpuMask gpus = 0; gpus < entries_.size(); ++gpus) {
    const auto span = span_of(platform, gpus);
    std::uint32_t nics = 0;
    for (GpuMask rest = gpus; rest != 0; rest &= rest - 1) {
      nics += distances[std::countr_zero(rest)];
    }
    // Counts are at most 16 and fit five bits; distances sum to at most 16 * 8.
    const auto pack = [](std::uint32_t high, int a, int b, int c) {
      return (high << 15) | (static_cast<std::uint32_t>(a) << 10) |
             (static_cast<std::uint32_t>(b) << 5) | static_cast<std::uint32_t>(c);
    };
    auto& entry = entries_[gpus];
    entry.all_reduce = static_cast<std::int32_t>(model_all_reduce(platform, gpus));
    entry.closeness = pack((nics << 5) | static_cast<std::uint32_t>(span.sockets), span.numa_nodes,
                           span.top_switches, span.switches);
    entry.spread = pack(static_cast<std::uint32_t>(span.numa_nodes), span.sockets,
                        span.top_switches, span.switches);
  }
  rank_worth(platform);
}

void PlacementTable::rank_worth(const Platform& platform) {
  std::vector<std::int64_t> value(entries_.size());
  for (GpuMask gpus = 0; gpus < entries_.size(); ++gpus) {
    value[gpus] = group_value(entries_[gpus].all_reduce, span_of(platform, gpus));
  }
  std::array<std::vector<std::int64_t>, kGroupSizes.size()> best;
  for (std::size_t i = 0; i < kGroupSizes.size(); ++i) {
    best[i] = best_cuts(value, kGroupSizes[i]);
  }
  const auto key = [&](GpuMask gpus) {
    return std::array{best[0][gpus], best[1][gpus], best[2][gpus], best[3][gpus]};
  };
  std::vector<GpuMask> order(entries_.size());
  std::iota(order.begin(), order.end(), GpuMask{0});
  std::ranges::stable_sort(order, {}, key);
  for (std::size_t i = 1; i < order.size(); ++i) {
    const auto before = entries_[order[i - 1]].worth;
    entries_[order[i]].worth = before + (key(order[i]) == key(order[i - 1]) ? 0 : 1);
  }
}

} // namespace berth::hardware
