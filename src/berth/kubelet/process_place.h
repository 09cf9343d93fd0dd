// Which container a process of this machine is in, as its control groups say: for drivers that know
// processes by number alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth::kubelet {

/// The ids of containers that PROCFS/PID/cgroup names, outermost first: the runtime's container,
/// then those that were made within it. Of every way in which runtimes name a container's group:
/// its id (containerd and CRI-O without systemd), "cri-containerd-ID.scope", "crio-ID.scope",
/// "docker-ID.scope". Both cgroup versions. O(text).
std::vector<std::string> containers_in_cgroups(std::string_view text);

struct MachineProcess {
  std::string name;                    ///< the program's, at most 15 letters; "" if it is gone
  std::vector<std::string> containers; ///< ids, outermost first; empty: in none, or it is gone
};

/// Reads PROCFS/PID/{comm,cgroup}.
MachineProcess read_process(const std::string& procfs, std::int64_t pid);

} // namespace berth::kubelet
