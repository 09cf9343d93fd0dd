// What of a machine decides where a container's CPUs and memory are: logical CPUs with their cores,
// caches, NUMA nodes and sockets; the memory of each NUMA node; how far the nodes are apart. The
// kubelet reads the same from cAdvisor.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "berth/hardware/platform.h"
#include "berth/topology/cpu_set.h"
#include "berth/topology/numa_mask.h"

namespace berth::topology {

struct Cpu {
  int id = 0;
  int core = 0;         ///< the lowest CPU of its core
  int uncore_cache = 0; ///< the lowest CPU that shares its last level cache
  int numa = 0;
  int socket = 0;
};

struct MachineNuma {
  int id = 0;
  /// Bytes of each kind of memory: "memory", "hugepages-2Mi", "hugepages-1Gi".
  std::map<std::string, std::int64_t> memory;
  /// To each node of the machine, by id, as in Linux's table: 10 is itself. Missing: 255.
  std::map<int, int> distance;
};

/// A value. `cpus` ascend by id, `nodes` too.
struct Machine {
  std::vector<Cpu> cpus;
  std::vector<MachineNuma> nodes;

  bool known() const { return !cpus.empty(); }
  NumaMask all_nodes() const;
  NumaMask nodes_with_cpus() const;
  CpuSet all_cpus() const;
  int threads_per_core() const;
  int cpus_per_uncore_cache() const;
  int sockets() const;
  int distance(int from, int to) const;
};

/// CPUs are numbered as Linux does it: a NUMA node's list has, on amd64, the first threads of its
/// cores and then, in the same order, their second threads. Last level caches are those of the CPU
/// model: groups of four or eight cores of an EPYC, the socket's part of the NUMA node elsewhere.
/// Memory is spread evenly over the NUMA nodes with CPUs; what hangs on a GPU is not given to
/// containers. Distances: 10 itself, 12 the same socket, 21 another.
Machine machine_of(const hardware::Platform& platform);

} // namespace berth::topology
