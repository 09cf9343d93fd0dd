// What a container sees of its node: environment, device nodes, mounts. The record that `berth run`
// prints.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace berth::runtime {

struct DeviceNode {
  std::string path; ///< "/dev/nvidia0"
  char type = 'c';
  std::int64_t major = 0;
  std::int64_t minor = 0;
  std::string permissions = "rwm"; ///< device cgroup access

  bool operator==(const DeviceNode&) const = default;
};

struct MountPoint {
  std::string source;
  std::string destination;
  std::vector<std::string> options;

  bool operator==(const MountPoint&) const = default;
};

struct ContainerFacts {
  std::string container;
  std::vector<std::pair<std::string, std::string>> env; ///< in OCI order, last value of a name wins
  std::vector<DeviceNode> devices;
  std::vector<MountPoint> mounts;
  std::vector<std::string>
      cdi_devices;         ///< qualified names, "k8s.device-plugin.nvidia.com/gpu=GPU-..."
  std::string cpuset_cpus; ///< CPUs it may run on, "0-3,8"; "": any
  std::string cpuset_mems; ///< NUMA nodes its memory may be on; "": any
};

} // namespace berth::runtime
