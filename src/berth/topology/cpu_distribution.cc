// Taking CPUs evenly from several NUMA nodes (distribute-cpus-across-numa), as the kubelet does it:
// of the combinations of as few nodes as can give equal shares in whole groups, the one that leaves
// what is free on all nodes most equal.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "berth/topology/cpu_picking.h"

namespace berth::topology {
namespace {

/// Beyond that there are too many combinations of nodes and of nodes that give a group more.
constexpr std::size_t kMostNodes = 8;

using Nodes = std::vector<int>;
/// CPUs that are free, by NUMA node.
using Room = std::map<int, int>;

struct Shares {
  Nodes nodes;
  int each = 0; ///< CPUs of every node
  Nodes more;   ///< nodes that give further groups, one after another
};

// Kubernetes' balance score: the standard deviation to three decimals.
double imbalance(const Room& room) {
  double sum = 0;
  for (const auto& [node, free] : room) {
    sum += free;
  }
  const double mean = sum / static_cast<double>(room.size());
  double squares = 0;
  for (const auto& [node, free] : room) {
    squares += (free - mean) * (free - mean);
  }
  constexpr double kDecimals = 1000;
  return std::round(std::sqrt(squares / static_cast<double>(room.size())) * kDecimals) / kDecimals;
}

// Every choice of `size` of the nodes, in the order of their places.
template <class Visit> void for_combinations(const Nodes& nodes, std::size_t size, Visit visit) {
  std::vector<bool> chosen(nodes.size());
  std::fill_n(chosen.begin(), static_cast<std::ptrdiff_t>(size), true);
  do {
    Nodes combination;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (chosen[i]) {
        combination.push_back(nodes[i]);
      }
    }
    visit(combination);
  } while (std::prev_permutation(chosen.begin(), chosen.end()));
}

class Distribution {
 public:
  Distribution(Room room, Nodes order, int count, int group)
      : room_(std::move(room)), order_(std::move(order)), count_(count), group_(group) {}

  /// The best shares over combinations of `size` nodes; none if no combination can give them.
  std::optional<Shares> best(std::size_t size) const {
    std::optional<Shares> best;
    double least = std::numeric_limits<double>::max();
    for_combinations(order_, size, [&](const Nodes& nodes) {
      if (auto found = shares_of(nodes); found && found->second < least) {
        least = found->second;
        best = std::move(found->first);
      }
    });
    return best;
  }

 private:
  // The shares of these nodes and how unequal they leave all nodes.
  std::optional<std::pair<Shares, double>> shares_of(const Nodes& nodes) const {
    int whole_groups = 0;
    for (const int node : nodes) {
      whole_groups += room_.at(node) / group_;
    }
    const int each = count_ / static_cast<int>(nodes.size()) / group_ * group_;
    const bool short_of = std::ranges::any_of(nodes, [&](int n) { return room_.at(n) < each; });
    if (whole_groups * group_ < count_ || short_of) {
      return std::nullopt;
    }
    Room after = room_;
    for (const int node : nodes) {
      after[node] -= each;
    }
    Shares shares{.nodes = nodes, .each = each, .more = {}};
    const int rest = count_ - each * static_cast<int>(nodes.size());
    if (rest == 0) {
      return std::pair(std::move(shares), imbalance(after));
    }
    return with_rest(std::move(shares), after, rest);
  }

  // Tries who gives the rest: as many nodes as can, and of as many those that leave most equality.
  std::optional<std::pair<Shares, double>> with_rest(Shares shares, const Room& after,
                                                     int rest) const {
    Nodes able;
    std::ranges::copy_if(shares.nodes, std::back_inserter(able),
                         [&](int node) { return after.at(node) >= group_; });
    double least = std::numeric_limits<double>::max();
    for (std::size_t size = able.size(); size >= 1; --size) {
      for_combinations(able, size, [&](const Nodes& givers) {
        Room left = after;
        if (hand_out(left, givers, rest) && imbalance(left) < least) {
          least = imbalance(left);
          shares.more = givers;
        }
      });
    }
    if (shares.more.empty()) {
      return std::nullopt;
    }
    return std::pair(std::move(shares), least);
  }

  // Takes the rest group by group from the givers in turn; false if they have not as much.
  bool hand_out(Room& room, const Nodes& givers, int rest) const {
    while (rest > 0) {
      const int before = rest;
      for (const int node : givers) {
        if (rest > 0 && room[node] >= group_) {
          room[node] -= group_;
          rest -= group_;
        }
      }
      if (rest == before) {
        return false;
      }
    }
    return true;
  }

  Room room_;
  Nodes order_;
  int count_;
  int group_;
};

CpuSet on_node(const Machine& machine, const CpuSet& cpus, int node) {
  std::vector<int> ids;
  for (const Cpu& cpu : machine.cpus) {
    if (cpu.numa == node && cpus.has(cpu.id)) {
      ids.push_back(cpu.id);
    }
  }
  return CpuSet(std::move(ids));
}

Granted<CpuSet> take_shares(const Machine& machine, const CpuSet& available, const Shares& shares,
                            int count, int group, const PickRules& rules) {
  CpuSet taken;
  const auto take = [&](int node, int share) -> Granted<void> {
    auto cpus = take_packed(machine, on_node(machine, available - taken, node), share, rules);
    if (!cpus) {
      return tl::unexpected(std::move(cpus).error());
    }
    taken = taken | *cpus;
    return {};
  };
  for (const int node : shares.nodes) {
    BERTH_CHECK(take(node, shares.each));
  }
  while (taken.count() < count) {
    const int before = taken.count();
    for (const int node : shares.more) {
      if (taken.count() < count && on_node(machine, available - taken, node).count() >= group) {
        BERTH_CHECK(take(node, group));
      }
    }
    if (taken.count() == before) {
      return refuse("accounting error, not enough CPUs allocated");
    }
  }
  return taken;
}

// The nodes with free CPUs, those with the fewest first; by socket where sockets hold nodes.
Nodes order_of(const Machine& machine, const Room& room) {
  std::map<int, int> socket_of;
  std::map<int, int> socket_room;
  for (const Cpu& cpu : machine.cpus) {
    socket_of[cpu.numa] = cpu.socket;
  }
  for (const auto& [node, free] : room) {
    socket_room[socket_of[node]] += free;
  }
  const bool numa_first = machine.sockets() >= machine.nodes_with_cpus().count();
  Nodes nodes;
  for (const auto& [node, free] : room) {
    nodes.push_back(node);
  }
  std::ranges::sort(nodes, {}, [&](int node) {
    const int socket = numa_first ? 0 : socket_of.at(node);
    const int in_socket = numa_first ? 0 : socket_room.at(socket_of.at(node));
    return std::tuple(in_socket, socket, room.at(node), node);
  });
  return nodes;
}

int divided_up(int a, int b) {
  return (a - 1) / b + 1;
}

} // namespace

Granted<CpuSet> take_distributed(const Machine& machine, const CpuSet& available, int count,
                                 int group_size, const PickRules& rules) {
  // Shares are taken packed; caches do not count beside them.
  const PickRules packed{.caches = PickRules::Caches::Ignored, .cores = rules.cores};
  Room room;
  for (const Cpu& cpu : machine.cpus) {
    if (available.has(cpu.id)) {
      ++room[cpu.numa];
    }
  }
  const bool cannot = count <= 0 || count % group_size != 0 || available.count() < count ||
                      room.size() > kMostNodes;
  if (cannot) {
    return take_packed(machine, available, count, rules);
  }
  const int nodes = machine.nodes_with_cpus().count();
  const int groups = divided_up(static_cast<int>(machine.cpus.size()), group_size);
  const int needed = divided_up(count, group_size);
  const int fewest = divided_up(needed, divided_up(groups, nodes));
  const int most = std::min(needed, static_cast<int>(room.size()));
  const Distribution distribution(room, order_of(machine, room), count, group_size);
  for (int size = fewest; size <= most; ++size) {
    if (const auto shares = distribution.best(static_cast<std::size_t>(size))) {
      return take_shares(machine, available, *shares, count, group_size, packed);
    }
  }
  return take_packed(machine, available, count, rules);
}

} // namespace berth::topology
