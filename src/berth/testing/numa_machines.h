// Machines for tests of what is on which NUMA node: as many of each part as a test wants, numbered
// as Linux numbers them.
#pragma once

#include <cstdint>

#include "berth/topology/machine.h"

namespace berth::test {

struct NumaShape {
  int sockets = 2;
  int nodes_per_socket = 1;
  int cores_per_node = 4;
  int threads = 2;
  int cores_per_cache = 4;
  std::int64_t memory_per_node = std::int64_t{16} << 30;
};

/// Cores are numbered node by node; their second threads follow all first ones.
inline topology::Machine numa_machine(const NumaShape& shape) {
  topology::Machine machine;
  const int nodes = shape.sockets * shape.nodes_per_socket;
  const int cores = nodes * shape.cores_per_node;
  for (int id = 0; id < cores * shape.threads; ++id) {
    const int core = id % cores;
    const int node = core / shape.cores_per_node;
    const int in_node = core % shape.cores_per_node;
    machine.cpus.push_back({.id = id,
                            .core = core,
                            .uncore_cache = core - in_node % shape.cores_per_cache,
                            .numa = node,
                            .socket = node / shape.nodes_per_socket});
  }
  for (int node = 0; node < nodes; ++node) {
    topology::MachineNuma& made = machine.nodes.emplace_back();
    made.id = node;
    made.memory["memory"] = shape.memory_per_node;
    for (int other = 0; other < nodes; ++other) {
      const bool same_socket = node / shape.nodes_per_socket == other / shape.nodes_per_socket;
      made.distance[other] = node == other ? 10 : same_socket ? 12 : 21;
    }
  }
  return machine;
}

/// A GB200 tray as Linux shows it: 34 NUMA nodes, two with CPUs and memory, the others the GPUs'.
inline topology::Machine gb200_machine() {
  topology::Machine machine = numa_machine({.cores_per_node = 72, .threads = 1});
  for (int node = 2; node < 34; ++node) {
    topology::MachineNuma& made = machine.nodes.emplace_back();
    made.id = node;
    for (int other = 0; other < 34; ++other) {
      made.distance[other] = node == other ? 10 : 80;
    }
  }
  return machine;
}

} // namespace berth::test
