#include "berth/hardware/platform_check.h"

#include <charconv>
#include <map>
#include <set>

#include <fmt/format.h>

namespace berth::hardware {

namespace {

constexpr std::size_t kMaxGpus = 16;
constexpr int kMaxCpu = (1 << 20) - 1; // far above Linux' own bound

class Checker {
 public:
  explicit Checker(const Platform& platform) : p_(platform) {}

  std::vector<PlatformFault> run() {
    check_cpus();
    check_switches();
    check_gpus();
    check_nics();
    check_nvlinks();
    check_fabric();
    return std::move(faults_);
  }

 private:
  void fault(std::string pointer, std::string message) {
    faults_.push_back({std::move(pointer), std::move(message)});
  }

  void check_cpus() {
    int total = 0;
    for (std::size_t i = 0; i < p_.numa.size(); ++i) {
      const auto& node = p_.numa[i];
      if (node.id != static_cast<int>(i)) {
        fault(fmt::format("/numa/{}/id", i),
              fmt::format("NUMA nodes are listed by id from 0: expected {}, found {}", i, node.id));
      }
      if (node.socket < 0 || node.socket >= p_.sockets) {
        fault(fmt::format("/numa/{}/socket", i),
              fmt::format("no such socket; the machine has {}: {}", p_.sockets, node.socket));
      }
      const int cpus = count_cpus(node.cpus);
      if (cpus < 0) {
        fault(fmt::format("/numa/{}/cpus", i),
              fmt::format("not a CPU list such as 0-15,32-47: {}", node.cpus));
      }
      total += cpus;
    }
    if (p_.numa.empty()) {
      fault("/numa", "a machine has at least one NUMA node");
    } else if (total != p_.cpus) {
      fault("/cpus", fmt::format("the NUMA nodes list {} CPUs: {}", total, p_.cpus));
    }
  }

  void check_switches() {
    for (std::size_t i = 0; i < p_.pcie_switches.size(); ++i) {
      const auto& s = p_.pcie_switches[i];
      if (s.id != static_cast<int>(i)) {
        fault(fmt::format("/pcie_switches/{}/id", i),
              fmt::format("switches are listed by id from 0: expected {}, found {}", i, s.id));
      }
      if (s.parent < -1 || s.parent >= static_cast<int>(i)) {
        fault(fmt::format("/pcie_switches/{}/parent", i),
              fmt::format("a parent is listed before its children: {}", s.parent));
      } else if (s.parent >= 0 && p_.pcie_switches[s.parent].root_complex != s.root_complex) {
        fault(fmt::format("/pcie_switches/{}/root_complex", i),
              fmt::format("differs from that of parent {}: {}", s.parent, s.root_complex));
      }
    }
  }

  void check_place(const std::string& at, const PciePlace& place) {
    if (place.numa < 0 || place.numa >= static_cast<int>(p_.numa.size())) {
      fault(at + "/numa",
            fmt::format("no such NUMA node; the machine has {}: {}", p_.numa.size(), place.numa));
    }
    if (place.pcie_switch < -1 || place.pcie_switch >= static_cast<int>(p_.pcie_switches.size())) {
      fault(at + "/pcie_switch", fmt::format("no such switch; the machine has {}: {}",
                                             p_.pcie_switches.size(), place.pcie_switch));
    } else if (place.pcie_switch >= 0 &&
               p_.pcie_switches[place.pcie_switch].root_complex != place.root_complex) {
      fault(at + "/root_complex",
            fmt::format("switch {} is on root complex {}: {}", place.pcie_switch,
                        p_.pcie_switches[place.pcie_switch].root_complex, place.root_complex));
    }
    const auto [known, fresh] = numa_of_root_.emplace(place.root_complex, place.numa);
    if (!fresh && known->second != place.numa) {
      fault(at + "/numa", fmt::format("root complex {} is on NUMA node {}: {}", place.root_complex,
                                      known->second, place.numa));
    }
  }

  void check_bus(const std::string& at, const std::string& bus_id) {
    if (!buses_.insert(bus_id.substr(bus_id.size() > 12 ? bus_id.size() - 12 : 0)).second) {
      fault(at + "/pci_bus_id", fmt::format("used twice: {}", bus_id));
    }
  }

  void check_gpus() {
    if (p_.gpus.empty() || p_.gpus.size() > kMaxGpus) {
      fault("/gpus", fmt::format("a platform has 1 to {} GPUs: {}", kMaxGpus, p_.gpus.size()));
    }
    for (std::size_t i = 0; i < p_.gpus.size(); ++i) {
      const auto at = fmt::format("/gpus/{}", i);
      if (p_.gpus[i].index != static_cast<int>(i)) {
        fault(at + "/index", fmt::format("GPUs are listed by index from 0: expected {}, found {}",
                                         i, p_.gpus[i].index));
      }
      check_place(at, p_.gpus[i].place());
      check_bus(at, p_.gpus[i].pci_bus_id);
    }
  }

  void check_nics() {
    std::set<std::string> names;
    std::set<int> rails;
    for (std::size_t i = 0; i < p_.nics.size(); ++i) {
      const auto at = fmt::format("/nics/{}", i);
      const auto& nic = p_.nics[i];
      check_place(at, nic.place());
      check_bus(at, nic.pci_bus_id);
      if (!names.insert(nic.name).second) {
        fault(at + "/name", fmt::format("used twice: {}", nic.name));
      }
      if (nic.rail >= 0 && !rails.insert(nic.rail).second) {
        fault(at + "/rail", fmt::format("used twice: {}", nic.rail));
      }
      if (nic.layer != "infiniband" && nic.layer != "ethernet") {
        fault(at + "/layer", fmt::format("expected infiniband or ethernet: {}", nic.layer));
      }
    }
  }

  void check_nvlinks() {
    const auto n = p_.gpus.size();
    if (p_.nvlinks.size() != n) {
      fault("/nvlinks",
            fmt::format("expected a row for each of {} GPUs: {}", n, p_.nvlinks.size()));
      return;
    }
    for (std::size_t i = 0; i < n; ++i) {
      int sum = 0;
      for (std::size_t j = 0; j < n && p_.nvlinks[i].size() == n && p_.nvlinks[j].size() == n;
           ++j) {
        sum += p_.nvlinks[i][j];
        if (p_.nvlinks[i][j] != p_.nvlinks[j][i] || p_.nvlinks[i][j] < 0 ||
            (i == j && p_.nvlinks[i][j] != 0)) {
          fault("/nvlinks",
                fmt::format("links are symmetric, none to oneself: GPUs {} and {}", i, j));
        }
      }
      if (p_.nvlinks[i].size() != n) {
        fault("/nvlinks",
              fmt::format("expected a column for each of {} GPUs: {}", n, p_.nvlinks[i].size()));
      } else if (!p_.nvswitch && sum > p_.gpu_model.nvlink_links) {
        fault("/nvlinks",
              fmt::format("GPU {} has {} links, {} are used", i, p_.gpu_model.nvlink_links, sum));
      }
    }
  }

  void check_fabric() {
    const auto& model = p_.gpu_model;
    if (p_.nvswitch && model.nvlink_links == 0) {
      fault("/fabric/nvswitch", "the GPUs have no NVLinks");
    }
    if (model.nvlink_links > 0 && model.nvlink_mbps_per_link == 0) {
      fault("/gpu_model/nvlink/mbps_per_link", "links need a rate");
    }
    if (p_.nvls && (!p_.nvswitch || model.nvls_efficiency_percent == 0)) {
      fault("/fabric/nvls", "in-switch reduction needs an NVSwitch and an efficiency");
    }
    if (p_.nvlink_domain_gpus != 0 &&
        (!p_.nvswitch || p_.nvlink_domain_gpus < static_cast<int>(p_.gpus.size()))) {
      fault("/fabric/domain_gpus",
            fmt::format("a domain spans whole nodes over switches: {}", p_.nvlink_domain_gpus));
    }
  }

  const Platform& p_;
  std::vector<PlatformFault> faults_;
  std::set<std::string> buses_;
  std::map<int, int> numa_of_root_;
};

/// Takes a decimal number off the front; -1 if there is none.
int take_number(std::string_view& text) {
  int value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || value < 0) {
    return -1;
  }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

} // namespace

int count_cpus(std::string_view list) {
  int count = 0;
  int last = -1;
  while (true) {
    const int first = take_number(list);
    int end = first;
    if (first >= 0 && list.starts_with('-')) {
      list.remove_prefix(1);
      end = take_number(list);
    }
    if (first <= last || end < first || end > kMaxCpu) {
      return -1;
    }
    count += end - first + 1;
    last = end;
    if (list.empty()) {
      return count;
    }
    if (!list.starts_with(',')) {
      return -1;
    }
    list.remove_prefix(1);
  }
}

void derive_platform(Platform& platform) {
  platform.numa_nodes = static_cast<int>(platform.numa.size());
  if (!platform.nvswitch) {
    return;
  }
  const auto n = platform.gpus.size();
  platform.nvlinks.assign(n, std::vector<int>(n, platform.gpu_model.nvlink_links));
  for (std::size_t i = 0; i < n; ++i) {
    platform.nvlinks[i][i] = 0;
  }
}

std::vector<PlatformFault> check_platform(const Platform& platform) {
  return Checker(platform).run();
}

} // namespace berth::hardware
