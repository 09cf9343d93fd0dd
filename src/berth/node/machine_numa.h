// NUMA nodes, CPUs and memory of the machine this runs on, as Linux tells them below /sys: what the
// topology, CPU and memory managers of its agent decide with.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "berth/base/result.h"
#include "berth/topology/cpu_set.h"
#include "berth/topology/machine.h"

namespace berth::node {

struct NumaSource {
  std::string sysfs = "/sys";
  /// CPUs that processes of this machine may run on; others are left out. Empty: all.
  topology::CpuSet usable;
  /// Nodes whose memory is a GPU's own, if they have no CPUs: it is given to nobody.
  std::set<int> device_memory;
  /// Bytes of memory of a machine that names no NUMA nodes: it is then one, node 0.
  std::int64_t memory = 0;
};

/// Of each node its online CPUs, its memory less what is set aside for huge pages, its huge pages
/// and its distances; of each CPU its core, socket and last level cache. What a kernel does not
/// tell has the plainest meaning: a CPU is a core of its own, of socket 0; nodes without distances
/// know none. Nodes with neither CPUs nor memory are left out. Error Invalid: a file that says
/// something else than Linux would, named in the error; a node above 63.
Result<topology::Machine> read_machine_numa(const NumaSource& source);

/// "hugepages-2Mi" of 2048.
std::string hugepage_resource(std::int64_t page_kib);

} // namespace berth::node
