#include "berth/topology/machine.h"

#include <algorithm>
#include <set>

namespace berth::topology {
namespace {

constexpr int kUnknownDistance = 255;
constexpr int kItself = 10;
constexpr int kSameSocket = 12;
constexpr int kOtherSocket = 21;

// Cores that share a last level cache; 0: all of the NUMA node.
int cores_per_cache(const hardware::CpuModel& model) {
  constexpr int kZen = 23;
  if (model.vendor != "AuthenticAMD") {
    return 0;
  }
  return model.family <= kZen ? 4 : 8;
}

void add_cpus(const hardware::Platform& platform, const hardware::NumaNode& node,
              std::vector<Cpu>& cpus) {
  const std::vector<int> ids = parse_id_list(node.cpus).value_or(std::vector<int>());
  const bool threads = platform.cpu_model.architecture == "amd64" && ids.size() % 2 == 0;
  const std::size_t cores = threads ? ids.size() / 2 : ids.size();
  const int group = cores_per_cache(platform.cpu_model);
  const std::size_t per_cache = group == 0 ? cores : static_cast<std::size_t>(group);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::size_t core = i % cores;
    cpus.push_back({.id = ids[i],
                    .core = ids[core],
                    .uncore_cache = ids[core - core % per_cache],
                    .numa = node.id,
                    .socket = node.socket});
  }
}

template <class Of> int largest_group(const std::vector<Cpu>& cpus, Of of) {
  std::map<int, int> sizes;
  int largest = 1;
  for (const Cpu& cpu : cpus) {
    largest = std::max(largest, ++sizes[of(cpu)]);
  }
  return largest;
}

} // namespace

NumaMask Machine::all_nodes() const {
  NumaMask mask;
  for (const MachineNuma& node : nodes) {
    mask = mask | NumaMask::single(node.id);
  }
  return mask;
}

NumaMask Machine::nodes_with_cpus() const {
  NumaMask mask;
  for (const Cpu& cpu : cpus) {
    mask = mask | NumaMask::single(cpu.numa);
  }
  return mask;
}

CpuSet Machine::all_cpus() const {
  std::vector<int> ids;
  for (const Cpu& cpu : cpus) {
    ids.push_back(cpu.id);
  }
  return CpuSet(std::move(ids));
}

int Machine::threads_per_core() const {
  return largest_group(cpus, [](const Cpu& cpu) { return cpu.core; });
}

int Machine::cpus_per_uncore_cache() const {
  return largest_group(cpus, [](const Cpu& cpu) { return cpu.uncore_cache; });
}

int Machine::sockets() const {
  std::set<int> ids;
  for (const Cpu& cpu : cpus) {
    ids.insert(cpu.socket);
  }
  return static_cast<int>(ids.size());
}

int Machine::distance(int from, int to) const {
  const auto node = std::ranges::find(nodes, from, &MachineNuma::id);
  if (node == nodes.end()) {
    return kUnknownDistance;
  }
  const auto known = node->distance.find(to);
  return known != node->distance.end() ? known->second : from == to ? kItself : kUnknownDistance;
}

Machine machine_of(const hardware::Platform& platform) {
  constexpr std::int64_t kGib = std::int64_t{1} << 30;
  Machine machine;
  const auto count = static_cast<std::int64_t>(platform.numa.size());
  for (const hardware::NumaNode& node : platform.numa) {
    add_cpus(platform, node, machine.cpus);
    MachineNuma& made = machine.nodes.emplace_back();
    made.id = node.id;
    made.memory["memory"] = platform.memory_gib * kGib / count;
    for (const hardware::NumaNode& other : platform.numa) {
      made.distance[other.id] = other.id == node.id           ? kItself
                                : other.socket == node.socket ? kSameSocket
                                                              : kOtherSocket;
    }
  }
  std::ranges::sort(machine.cpus, {}, &Cpu::id);
  return machine;
}

} // namespace berth::topology
