#include "berth/hardware/formats/picture.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include <fmt/format.h>

namespace berth::hardware {

namespace {

struct Branch {
  std::string text;
  std::vector<Branch> below;
};

std::string count(std::size_t n, std::string_view what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

class Drawing {
 public:
  explicit Drawing(const Platform& platform) : p_(platform) {}

  std::vector<Branch> sockets() const {
    std::vector<Branch> out;
    for (int socket = 0; socket < p_.sockets; ++socket) {
      Branch branch{.text = fmt::format("socket {}  {}", socket, p_.cpu_model.name)};
      for (const NumaNode& node : p_.numa) {
        if (node.socket == socket) {
          branch.below.push_back(numa(node));
        }
      }
      out.push_back(std::move(branch));
    }
    return out;
  }

 private:
  Branch numa(const NumaNode& node) const {
    Branch branch{.text = fmt::format("NUMA node {}  CPUs {}", node.id, node.cpus)};
    std::set<int> bridges;
    for (const Gpu& gpu : p_.gpus) {
      if (gpu.numa == node.id) {
        bridges.insert(gpu.root_complex);
      }
    }
    for (const Nic& nic : p_.nics) {
      if (nic.numa == node.id) {
        bridges.insert(nic.root_complex);
      }
    }
    for (const int bridge : bridges) {
      Branch below = bus(fmt::format("host bridge {}", bridge), bridge, -1);
      branch.below.push_back(std::move(below));
    }
    return branch;
  }

  /// What hangs on a host bridge (switch -1) or below one of its switches.
  Branch bus(std::string text, int bridge, int pcie_switch) const {
    Branch branch{.text = std::move(text)};
    const auto here = [&](const auto& device) {
      return device.root_complex == bridge && device.pcie_switch == pcie_switch;
    };
    for (const PcieSwitch& s : p_.pcie_switches) {
      if (s.root_complex == bridge && s.parent == pcie_switch) {
        branch.below.push_back(bus(fmt::format("PCIe switch {}", s.id), bridge, s.id));
      }
    }
    for (const Gpu& gpu : p_.gpus) {
      if (here(gpu)) {
        branch.below.push_back({.text = fmt::format("GPU{}  {}", gpu.index, gpu.pci_bus_id)});
      }
    }
    for (const Nic& nic : p_.nics) {
      if (here(nic)) {
        branch.below.push_back(
            {.text =
                 fmt::format("{}  {}  {} Gb/s {}{}", nic.name, nic.pci_bus_id, nic.gbits, nic.layer,
                             nic.rail < 0 ? "" : fmt::format(", rail {}", nic.rail))});
      }
    }
    return branch;
  }

  const Platform& p_;
};

void draw(const std::vector<Branch>& branches, const std::string& indent, std::string& out) {
  for (std::size_t i = 0; i < branches.size(); ++i) {
    const bool last = i + 1 == branches.size();
    out += fmt::format("{}{}{}\n", indent, last ? "└─ " : "├─ ", branches[i].text);
    draw(branches[i].below, indent + (last ? "   " : "│  "), out);
  }
}

std::string nvlinks(const Platform& p) {
  const int rate = p.gpu_model.nvlink_mbps_per_link;
  if (p.gpu_model.nvlink_links == 0) {
    return "";
  }
  if (p.nvswitch) {
    return fmt::format(
        "\nNVLink  every GPU to every other through NVSwitch: {} of {} MB/s{}\n",
        count(static_cast<std::size_t>(p.gpu_model.nvlink_links), "link"), rate,
        p.nvlink_domain_gpus == 0
            ? ""
            : fmt::format(", one domain of {} GPUs over several machines", p.nvlink_domain_gpus));
  }
  std::string out;
  for (std::size_t a = 0; a < p.gpus.size(); ++a) {
    std::string line;
    for (std::size_t b = 0; b < p.gpus.size(); ++b) {
      if (p.nvlinks[a][b] > 0) {
        line += fmt::format("{}GPU{} x{}", line.empty() ? "" : ", ", b, p.nvlinks[a][b]);
      }
    }
    if (!line.empty()) {
      out += fmt::format("{}GPU{} to {}\n", out.empty() ? "\nNVLink  " : "        ", a, line);
    }
  }
  return out;
}

} // namespace

std::string picture(const Platform& platform) {
  std::string out = fmt::format("{}  {}  {} x {}\n", platform.name, platform.title,
                                platform.gpus.size(), platform.gpu_model.product);
  draw(Drawing(platform).sockets(), "", out);
  return out + nvlinks(platform);
}

} // namespace berth::hardware
