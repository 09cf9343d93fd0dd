#include "berth/hardware/placement_table.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <numeric>

#include "berth/hardware/collective_model.h"
#include "berth/hardware/combinations.h"

namespace berth::hardware {

namespace {

constexpr std::array<int, 4> kGroupSizes{16, 8, 4, 2};

/// How many sockets, NUMA nodes, outermost and innermost PCIe switches a set of GPUs touches, each
/// at most 16.
struct Span {
  int sockets = 0;
  int numa_nodes = 0;
  int top_switches = 0;
  int switches = 0;
};

/// The GPUs of each socket, NUMA node and switch, as sets.
class Enclosures {
 public:
  explicit Enclosures(const Platform& platform) {
    for (const auto& gpu : platform.gpus) {
      // A GPU on a root complex counts that as its switch.
      const int on_root = -1 - gpu.root_complex;
      const bool direct = gpu.pcie_switch < 0;
      add(sockets_, platform.socket_of(gpu.numa), gpu.index);
      add(numa_nodes_, gpu.numa, gpu.index);
      add(tops_, direct ? on_root : platform.top_switch(gpu.pcie_switch), gpu.index);
      add(switches_, direct ? on_root : gpu.pcie_switch, gpu.index);
    }
  }

  Span span_of(GpuMask gpus) const {
    return {.sockets = touched(sockets_, gpus),
            .numa_nodes = touched(numa_nodes_, gpus),
            .top_switches = touched(tops_, gpus),
            .switches = touched(switches_, gpus)};
  }

 private:
  using Sets = std::map<int, GpuMask>;

  static void add(Sets& sets, int id, int gpu) { sets[id] |= GpuMask{1} << gpu; }
  static int touched(const Sets& sets, GpuMask gpus) {
    return static_cast<int>(
        std::ranges::count_if(sets, [&](const auto& set) { return (set.second & gpus) != 0; }));
  }

  Sets sockets_;
  Sets numa_nodes_;
  Sets tops_;
  Sets switches_;
};

/// All-reduce above, Span below, so that sums over at most 8 groups compare in that order: 16 * 8
/// fits a byte.
std::int64_t group_value(std::int64_t all_reduce, const Span& span) {
  const std::int64_t cost = (std::int64_t{span.sockets} << 24) | (span.numa_nodes << 16) |
                            (span.top_switches << 8) | span.switches;
  return (all_reduce << 32) - cost;
}

/// The all-reduce in a sum of group values.
std::int64_t all_reduce_part(std::int64_t value) {
  return (value + UINT32_MAX) >> 32;
}

/// The best cut of `rest` whose first group holds the lowest GPU; |rest| is a multiple of `size`.
std::int64_t best_full_cut(const std::vector<std::int64_t>& value,
                           const std::vector<std::int64_t>& best, GpuMask rest, int size) {
  const GpuMask lowest = rest & -rest;
  const GpuMask others = rest & ~lowest;
  std::int64_t most = INT64_MIN;
  for (const GpuMask group : Combinations(others, size - 1)) {
    most = std::max(most, value[group | lowest] + best[others & ~group]);
  }
  return most;
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
    if (count % size == 0) {
      best[rest] = best_full_cut(value, best, rest, size);
      continue;
    }
    best[rest] = INT64_MIN;
    for (GpuMask out = rest; out != 0; out &= out - 1) {
      best[rest] = std::max(best[rest], best[rest & ~(out & -out)]);
    }
  }
  return best;
}

} // namespace

PlacementTable::PlacementTable(const Platform& platform)
    : all_((GpuMask{1} << platform.gpus.size()) - 1), rail_groups_(hardware::rail_groups(platform)),
      pcie_mbps_(platform.gpu_model.pcie_mbps), entries_(std::size_t{1} << platform.gpus.size()) {
  std::vector<std::uint32_t> distances;
  for (const auto& gpu : platform.gpus) {
    distances.push_back(static_cast<std::uint32_t>(nic_distance(platform, gpu.index)));
  }
  const Enclosures enclosures(platform);
  std::vector<std::int64_t> value(entries_.size());
  for (GpuMask gpus = 0; gpus < entries_.size(); ++gpus) {
    const auto span = enclosures.span_of(gpus);
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
    value[gpus] = group_value(entry.all_reduce, span);
  }
  rank_worth(value);
}

void PlacementTable::add_room(const std::vector<std::int64_t>& best, int size) {
  std::int64_t ideal = 0;
  for (GpuMask gpus = 0; gpus < entries_.size(); ++gpus) {
    if (std::popcount(gpus) == size) {
      ideal = std::max(ideal, all_reduce(gpus));
    }
  }
  for (GpuMask gpus = 0; ideal > 0 && gpus < entries_.size(); ++gpus) {
    entries_[gpus].room +=
        static_cast<std::uint32_t>(size * 1000 * all_reduce_part(best[gpus]) / ideal);
  }
}

void PlacementTable::rank_worth(const std::vector<std::int64_t>& value) {
  std::array<std::vector<std::int64_t>, kGroupSizes.size()> best;
  for (std::size_t i = 0; i < kGroupSizes.size(); ++i) {
    best[i] = best_cuts(value, kGroupSizes[i]);
  }
  for (std::size_t i = 0; i < kGroupSizes.size(); ++i) {
    add_room(best[i], kGroupSizes[i]);
  }
  const auto key = [&](GpuMask gpus) {
    return std::array{best[0][gpus], best[1][gpus], best[2][gpus], best[3][gpus]};
  };
  std::vector<GpuMask> order(entries_.size());
  std::iota(order.begin(), order.end(), GpuMask{0});
  std::ranges::sort(order, {}, key); // equal ones get equal ranks
  for (std::size_t i = 1; i < order.size(); ++i) {
    const auto before = entries_[order[i - 1]].worth;
    entries_[order[i]].worth = before + (key(order[i]) == key(order[i - 1]) ? 0 : 1);
  }
}

} // namespace berth::hardware
