// Machines that no catalogue has, for tests of what must hold on any device graph.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "berth/hardware/platform.h"

namespace berth::test {

/// A two-socket PCIe machine with `gpus` GPUs without NVLink: even split over sockets, `per_switch`
/// GPUs below one bridge, `switches_per_top` bridges below one switch, no NIC. NVLinks and NICs may
/// be added before finish().
class SyntheticPlatform {
 public:
  SyntheticPlatform(int gpus, int per_switch, int switches_per_top) {
    p_.name = p_.title = p_.machine = p_.instance_type = "synthetic";
    p_.sockets = 2;
    p_.cpus = 4;
    p_.memory_gib = 64;
    p_.inter_socket_mbps = 16000;
    p_.disks = {.root_gib = 100, .nvme_drives = 0, .nvme_gib = 0};
    p_.cpu_model.architecture = "amd64";
    p_.numa = {{.id = 0, .socket = 0, .cpus = "0-1"}, {.id = 1, .socket = 1, .cpus = "2-3"}};
    p_.gpu_model.product = "SYNTHETIC";
    p_.gpu_model.memory_mib = 1024;
    p_.gpu_model.pcie_mbps = 24000;
    p_.gpu_model.nvlink_links = 12;
    p_.gpu_model.nvlink_mbps_per_link = 20000;
    int top = -1;
    int leaf = -1;
    for (int i = 0; i < gpus; ++i) {
      const int socket = i * 2 / gpus;
      if (i % (per_switch * switches_per_top) == 0) {
        top = add_switch(-1, i + 1);
      }
      if (i % per_switch == 0) {
        leaf = add_switch(top, p_.pcie_switches[top].root_complex);
      }
      p_.gpus.push_back({.index = i,
                         .numa = socket,
                         .pcie_switch = leaf,
                         .root_complex = p_.pcie_switches[leaf].root_complex,
                         .pci_bus_id = fmt::format("00000000:{:02x}:00.0", i + 1)});
    }
    p_.nvlinks.assign(gpus, std::vector<int>(gpus, 0));
  }

  SyntheticPlatform& nvlink(int a, int b, int links) {
    p_.nvlinks[a][b] = p_.nvlinks[b][a] = links;
    return *this;
  }
  /// A compute NIC on the bridge of a GPU.
  SyntheticPlatform& nic_beside(int gpu, int gbits) {
    const auto& g = p_.gpus[gpu];
    const int n = static_cast<int>(p_.nics.size());
    p_.nics.push_back({.name = fmt::format("mlx5_{}", n),
                       .rail = n,
                       .gbits = gbits,
                       .numa = g.numa,
                       .pcie_switch = g.pcie_switch,
                       .root_complex = g.root_complex,
                       .pci_bus_id = fmt::format("0000:{:02x}:01.0", n + 0x80),
                       .model = "ConnectX-6",
                       .layer = "infiniband"});
    return *this;
  }
  hardware::Platform& raw() { return p_; }
  hardware::Platform finish() const { return hardware::finish_platform(p_).value(); }

 private:
  int add_switch(int parent, int root_complex) {
    const int id = static_cast<int>(p_.pcie_switches.size());
    p_.pcie_switches.push_back({.id = id, .parent = parent, .root_complex = root_complex});
    return id;
  }
  hardware::Platform p_;
};

/// The same machine with its GPUs renumbered: GPU `order[i]` of the original becomes GPU i.
inline hardware::Platform relabelled(const hardware::Platform& platform,
                                     const std::vector<int>& order) {
  hardware::Platform copy = platform;
  copy.table = nullptr;
  for (std::size_t i = 0; i < order.size(); ++i) {
    copy.gpus[i] = platform.gpus[order[i]];
    copy.gpus[i].index = static_cast<int>(i);
    for (std::size_t j = 0; j < order.size(); ++j) {
      copy.nvlinks[i][j] = platform.nvlinks[order[i]][order[j]];
    }
  }
  return hardware::finish_platform(std::move(copy)).value();
}

} // namespace berth::test
