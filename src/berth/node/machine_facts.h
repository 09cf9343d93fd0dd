// What this machine is: processors, memory, disk, names. The Node object of an agent that runs
// real containers is made of it, as the kubelet makes it.
#pragma once

#include <cstdint>
#include <string>

#include "berth/api/json.h"
#include "berth/base/result.h"

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
};

/// `root` is a directory of the file system that pods are kept on. Error: the system does not say
/// how much memory or disk there is.
Result<MachineFacts> read_machine_facts(const std::string& root);

struct MachineDocument {
  std::string name;
  std::string address;
  std::string container_runtime;  ///< "containerd://1.6.20"
  std::uint16_t kubelet_port = 0; ///< of daemonEndpoints; 0: none is told
  int max_pods = 110;
};

/// The Node: capacity; allocatable less the kubelet's default eviction thresholds (100 MiB of
/// memory, a tenth of the disk); labels kubernetes.io/{hostname,os,arch}; conditions of a healthy
/// machine.
api::json::value machine_node(const MachineFacts& facts, const MachineDocument& document);

} // namespace berth::node
