// The matrix from the library's calls: the closest common point of each pair in the PCIe tree, and
// whom the NVLinks end at.
#include <algorithm>
#include <array>
#include <climits>

#include <fmt/format.h>

#include "berth/inventory/nvml_reading.h"

namespace berth::inventory::nvml {

namespace {

using hardware::Link;

constexpr std::size_t kMaskWords = 1024 / (CHAR_BIT * sizeof(unsigned long));

Link link_of(int ancestor) {
  switch (ancestor) {
  case kAncestorInternal:
  case kAncestorSingle:
    return Link::PIX;
  case kAncestorMultiple:
    return Link::PXB;
  case kAncestorHostBridge:
    return Link::PHB;
  case kAncestorNode:
    return Link::NODE;
  default:
    return Link::SYS;
  }
}

/// Numbers of set bits as Linux lists them: "0-3,8".
std::string list_of(const std::array<unsigned long, kMaskWords>& mask) {
  constexpr std::size_t kBits = CHAR_BIT * sizeof(unsigned long);
  std::string out;
  int first = -1;
  for (std::size_t i = 0; i <= kMaskWords * kBits; ++i) {
    const bool on = i < kMaskWords * kBits && ((mask[i / kBits] >> (i % kBits)) & 1U) != 0;
    const int number = static_cast<int>(i);
    if (on && first < 0) {
      first = number;
    } else if (!on && first >= 0) {
      out += out.empty() ? "" : ",";
      out += number - 1 == first ? fmt::to_string(first) : fmt::format("{}-{}", first, number - 1);
      first = -1;
    }
  }
  return out;
}

class Matrix {
 public:
  Matrix(const Library& library, const Reading& reading)
      : f_(library.functions()), gpus_(reading.facts.gpus), devices_(reading.devices) {}

  hardware::TopoMatrix read() {
    const std::size_t n = std::min(devices_.size(), hardware::kMaxTopoGpus);
    for (std::size_t i = 0; i < n; ++i) {
      out_.devices.push_back(device(i));
    }
    out_.cells.assign(n, std::vector<hardware::TopoCell>(n));
    for (std::size_t a = 0; a < n; ++a) {
      for (std::size_t b = a + 1; b < n; ++b) {
        out_.cells[a][b] = out_.cells[b][a] = {.kind = pcie(devices_[a], devices_[b])};
      }
    }
    add_nvlinks(n);
    return std::move(out_);
  }

 private:
  hardware::TopoDevice device(std::size_t i) const {
    hardware::TopoDevice made{.name = fmt::format("GPU{}", i)};
    std::array<unsigned long, kMaskWords> mask{};
    Device handle = devices_[i];
    if (handle != nullptr && call(f_.cpu_affinity, handle, static_cast<unsigned>(mask.size()),
                                  mask.data()) == kSuccess) {
      made.cpus = list_of(mask);
    }
    if (gpus_[i].info.numa) {
      made.numa_affinity = fmt::to_string(*gpus_[i].info.numa);
    }
    unsigned node = 0;
    if (handle != nullptr && call(f_.numa_node, handle, &node) == kSuccess && node < 1024) {
      made.memory_numa = static_cast<int>(node);
    }
    return made;
  }

  Link pcie(Device a, Device b) const {
    int ancestor = kAncestorSystem;
    if (a == nullptr || b == nullptr || call(f_.common_ancestor, a, b, &ancestor) != kSuccess) {
      return Link::SYS;
    }
    return link_of(ancestor);
  }

  void add_nvlinks(std::size_t n) {
    std::vector<int> to_switch(n);
    std::vector<std::vector<int>> to_peer(n, std::vector<int>(n));
    for (std::size_t a = 0; a < n; ++a) {
      count_links(a, n, to_switch[a], to_peer[a]);
    }
    for (std::size_t a = 0; a < n; ++a) {
      for (std::size_t b = 0; b < n; ++b) {
        // A link that one end alone reports is down; switches join all that they hold.
        const int links = std::min(to_peer[a][b], to_peer[b][a]) > 0
                              ? std::min(to_peer[a][b], to_peer[b][a])
                              : std::min(to_switch[a], to_switch[b]);
        if (a != b && links > 0) {
          out_.cells[a][b] = {.kind = Link::NVLink, .nvlinks = links};
        }
      }
    }
  }

  void count_links(std::size_t a, std::size_t n, int& to_switch, std::vector<int>& to_peer) const {
    for (unsigned link = 0; devices_[a] != nullptr && link < kMaxLinks; ++link) {
      int active = 0;
      if (call(f_.nvlink_state, devices_[a], link, &active) != kSuccess) {
        return;
      }
      if (active != 1) {
        continue;
      }
      PciInfo remote{};
      int type = kRemoteGpu;
      const bool typed = call(f_.nvlink_remote_type, devices_[a], link, &type) == kSuccess;
      const bool placed = call(f_.nvlink_remote_pci, devices_[a], link, &remote) == kSuccess;
      std::size_t peer = n;
      for (std::size_t b = 0; b < n && placed; ++b) {
        peer = gpus_[b].info.pci_bus_id == fmt::format("{:08x}:{:02x}:{:02x}.0", remote.domain,
                                                       remote.bus & 0xffU, remote.device & 0x1fU)
                   ? b
                   : peer;
      }
      if (peer < n) {
        ++to_peer[peer];
      } else if (!typed || type == kRemoteSwitch) {
        ++to_switch; // inside a VM the switch itself is not seen
      }
    }
  }

  const Functions& f_;
  const std::vector<GpuFacts>& gpus_;
  const std::vector<Device>& devices_;
  hardware::TopoMatrix out_;
};

} // namespace

hardware::TopoMatrix read_matrix(const Library& library, const Reading& reading) {
  return Matrix(library, reading).read();
}

} // namespace berth::inventory::nvml
