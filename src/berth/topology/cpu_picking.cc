#include "berth/topology/cpu_picking.h"

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace berth::topology {
namespace {

/// What groups CPUs, as a member of Cpu.
using Level = int Cpu::*;

// The CPUs that are left and those that are taken, while a request is met.
class Accumulator {
 public:
  Accumulator(const Machine& machine, CpuSet available, int needed)
      : machine_(machine), left_(std::move(available)), needed_(needed),
        numa_first_(machine.sockets() >= machine.nodes_with_cpus().count()) {}

  bool satisfied() const { return needed_ <= 0; }
  int needed() const { return needed_; }
  const CpuSet& taken() const { return taken_; }
  const CpuSet& left() const { return left_; }

  void take(const CpuSet& cpus) {
    taken_ = taken_ | cpus;
    left_ = left_ - cpus;
    needed_ -= cpus.count();
  }

  CpuSet left_in(Level level, int id) const { return of_group(level, id) & left_; }

  /// Whole groups of the last level of `chain` that are free, each as long as it is needed whole.
  void take_whole(std::span<const Level> chain) {
    for (const int id : ordered(chain, left_)) {
      const CpuSet all = of_group(chain.back(), id);
      if (needed_ >= all.count() && left_.contains(all)) {
        take(all);
      }
    }
  }

  std::span<const Level> first_level() const { return chain(1); }
  std::span<const Level> second_level() const { return chain(2); }
  std::span<const Level> to_cores() const { return chain(3); }
  std::span<const Level> to_sockets() const { return numa_first_ ? second_level() : first_level(); }
  /// Last level caches, NUMA node by NUMA node.
  std::vector<int> caches() const {
    std::vector<int> ids;
    for (const int numa : ordered(numa_first_ ? first_level() : second_level(), left_)) {
      const auto more = ids_by_left(&Cpu::uncore_cache, left_in(&Cpu::numa, numa));
      ids.insert(ids.end(), more.begin(), more.end());
    }
    return ids;
  }

  /// Groups of the last level, those of one group of an earlier level together.
  std::vector<int> ordered(std::span<const Level> chain, const CpuSet& within) const {
    const std::vector<int> ids = ids_by_left(chain.front(), within);
    if (chain.size() == 1) {
      return ids;
    }
    std::vector<int> all;
    for (const int id : ids) {
      const auto more = ordered(chain.subspan(1), within & of_group(chain.front(), id));
      all.insert(all.end(), more.begin(), more.end());
    }
    return all;
  }

 private:
  std::span<const Level> chain(std::size_t levels) const {
    static constexpr std::array<Level, 3> kNumaFirst{&Cpu::numa, &Cpu::socket, &Cpu::core};
    static constexpr std::array<Level, 3> kSocketsFirst{&Cpu::socket, &Cpu::numa, &Cpu::core};
    return std::span(numa_first_ ? kNumaFirst : kSocketsFirst).first(levels);
  }

  CpuSet of_group(Level level, int id) const {
    std::vector<int> ids;
    for (const Cpu& cpu : machine_.cpus) {
      if (cpu.*level == id) {
        ids.push_back(cpu.id);
      }
    }
    return CpuSet(std::move(ids));
  }

  // Groups with a CPU of `within`, those with the fewest CPUs left first, then by id.
  std::vector<int> ids_by_left(Level level, const CpuSet& within) const {
    std::map<int, int> left;
    std::vector<int> ids;
    for (const Cpu& cpu : machine_.cpus) {
      left[cpu.*level] += left_.has(cpu.id);
      if (within.has(cpu.id) && std::ranges::find(ids, cpu.*level) == ids.end()) {
        ids.push_back(cpu.*level);
      }
    }
    std::ranges::sort(ids, {}, [&](int id) { return std::pair(left.at(id), id); });
    return ids;
  }

  const Machine& machine_;
  CpuSet left_;
  CpuSet taken_;
  int needed_;
  bool numa_first_; // NUMA nodes hold sockets, not the other way round
};

CpuSet first_of(const CpuSet& cpus, int count) {
  return CpuSet(std::vector<int>(cpus.begin(), cpus.begin() + count));
}

// The cores with the lowest ids that have CPUs left around one cache, if they meet the need
// exactly.
void take_part_of_cache(Accumulator& accumulator, const Machine& machine, int cache) {
  const int threads = machine.threads_per_core();
  const int cores_needed = (accumulator.needed() + threads - 1) / threads;
  const CpuSet around = accumulator.left_in(&Cpu::uncore_cache, cache);
  std::vector<int> cores;
  for (const Cpu& cpu : machine.cpus) {
    if (around.has(cpu.id)) {
      cores.push_back(cpu.core);
    }
  }
  std::ranges::sort(cores);
  const auto repeated = std::ranges::unique(cores);
  cores.erase(repeated.begin(), repeated.end());
  cores.resize(std::min(cores.size(), static_cast<std::size_t>(cores_needed)));
  CpuSet found;
  for (const int core : cores) {
    found = found | (accumulator.left_in(&Cpu::core, core) & around);
  }
  // An odd number of threads leaves the last core with one.
  if (threads > 1 && accumulator.needed() % 2 != 0 && found.count() > accumulator.needed()) {
    found = first_of(found, found.count() - 1);
  }
  if (found.count() == accumulator.needed()) {
    accumulator.take(found);
  }
}

void take_caches(Accumulator& accumulator, const Machine& machine) {
  const int per_cache = machine.cpus_per_uncore_cache();
  for (const int cache : accumulator.caches()) {
    if (accumulator.needed() >= per_cache) {
      for (const int whole : accumulator.caches()) {
        CpuSet all;
        for (const Cpu& cpu : machine.cpus) {
          all = cpu.uncore_cache == whole ? all | CpuSet{cpu.id} : all;
        }
        if (accumulator.needed() >= all.count() && accumulator.left().contains(all)) {
          accumulator.take(all);
        }
      }
    }
    if (accumulator.satisfied()) {
      return;
    }
    take_part_of_cache(accumulator, machine, cache);
    if (accumulator.satisfied()) {
      return;
    }
  }
}

void take_threads(Accumulator& accumulator, const PickRules& rules) {
  const bool spread = rules.cores == PickRules::Cores::Distributed;
  const auto chain = spread ? accumulator.to_sockets() : accumulator.to_cores();
  for (const int id : accumulator.ordered(chain, accumulator.left())) {
    for (const int cpu : accumulator.left_in(chain.back(), id)) {
      if (accumulator.satisfied()) {
        return;
      }
      accumulator.take(CpuSet{cpu});
    }
  }
}

} // namespace

Granted<CpuSet> take_packed(const Machine& machine, const CpuSet& available, int count,
                            const PickRules& rules) {
  if (available.count() < count) {
    return refuse(
        fmt::format("not enough cpus available to satisfy request: requested={}, available={}",
                    count, available.count()));
  }
  Accumulator accumulator(machine, available, count);
  accumulator.take_whole(accumulator.first_level());
  accumulator.take_whole(accumulator.second_level());
  if (!accumulator.satisfied() && rules.caches == PickRules::Caches::Aligned) {
    take_caches(accumulator, machine);
  }
  if (!accumulator.satisfied() && rules.cores == PickRules::Cores::Packed) {
    accumulator.take_whole(accumulator.to_cores());
  }
  take_threads(accumulator, rules);
  if (!accumulator.satisfied()) {
    return refuse("failed to allocate cpus");
  }
  return accumulator.taken();
}

} // namespace berth::topology
