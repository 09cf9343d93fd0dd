// What this machine is: processors, memory, disk, names. The Node object of an agent that runs
// real containers is made of it, as the kubelet makes it.
#pragma once

#include <cstdint>
#include <string>

#include "berth/api/json.h"
#include "berth/base/result.h"
#include "berth/topology/machine.h"
#include "berth/topology/settings.h"

namespace berth::node {

struct MachineFacts {
  std::string hostname; ///< lower case
  std::string address;  ///< the first that is not loopback; "127.0.0.1" if there is none
  int cpus = 0;
  std::int64_t memory_kib = 0;
  std::int64_t disk_kib = 0; ///< of the file system that pods are kept on
  std::string architecture;  ///< as Go names it, "amd64"
  std::string kernel;
  std::string os_image;
  std::string machine_id;
  std::string system_uuid;
  std::string boot_id;
  topology::CpuSet usable_cpus; ///< that processes of this machine may run on; `cpus` of them
  topology::Machine numa;       ///< not known until read_machine_numa() has been asked
};

/// `root` is a directory of the file system that pods are kept on. Error: the system does not say
/// how much memory or disk there is.
Result<MachineFacts> read_machine_facts(const std::string& root);

/// What a node's owner keeps back for what is not pods: the kubelet's --kube-reserved and
/// --system-reserved together. Not below 0.
struct SystemReserve {
  std::int64_t milli_cpu = 0;
  std::int64_t memory = 0;  ///< bytes
  std::int64_t storage = 0; ///< bytes of ephemeral storage

  bool operator==(const SystemReserve&) const = default;
};
/// With the kubelet's default eviction threshold, 100 MiB of memory: what allocatable lacks.
topology::KeptBack kept_back(const SystemReserve& reserve);

struct MachineDocument {
  std::string name;
  std::string address;
  std::string container_runtime;  ///< "containerd://1.6.20"
  std::uint16_t kubelet_port = 0; ///< of daemonEndpoints; 0: none is told
  int max_pods = 110;
  SystemReserve reserve;
};

/// The Node: capacity, with the huge pages of its NUMA nodes; allocatable less the reserve, the
/// kubelet's default eviction thresholds (100 MiB of memory, a tenth of the disk) and, of memory,
/// what huge pages take; labels kubernetes.io/{hostname,os,arch}; conditions of a healthy
/// machine.
api::json::value machine_node(const MachineFacts& facts, const MachineDocument& document);

} // namespace berth::node
