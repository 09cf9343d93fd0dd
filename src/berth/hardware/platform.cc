#include "berth/hardware/platform.h"

#include <fmt/format.h>

#include "berth/base/assert.h"
#include "berth/hardware/placement_table.h"
#include "berth/hardware/platform_check.h"

namespace berth::hardware {

namespace {

/// nvidia-smi's classes, from the closest common point of two devices in the PCIe tree.
Link pcie_relation(const Platform& platform, const PciePlace& a, const PciePlace& b) {
  if (a.pcie_switch >= 0 && b.pcie_switch >= 0) {
    if (a.pcie_switch == b.pcie_switch) {
      return Link::PIX;
    }
    if (platform.top_switch(a.pcie_switch) == platform.top_switch(b.pcie_switch)) {
      return Link::PXB;
    }
  }
  if (a.root_complex == b.root_complex) {
    return Link::PHB;
  }
  return a.numa == b.numa ? Link::NODE : Link::SYS;
}

} // namespace

std::string_view to_string(Link link) {
  switch (link) {
  case Link::Self:
    return "X";
  case Link::NVLink:
    return "NV";
  case Link::C2C:
    return "C2C";
  case Link::PIX:
    return "PIX";
  case Link::PXB:
    return "PXB";
  case Link::PHB:
    return "PHB";
  case Link::NODE:
    return "NODE";
  case Link::SYS:
    return "SYS";
  }
  BERTH_ASSERT(false, "link out of range");
}

Link Platform::link(int gpu_a, int gpu_b) const {
  if (gpu_a != gpu_b && nvlinks[gpu_a][gpu_b] > 0) {
    return Link::NVLink;
  }
  return pcie_link(gpu_a, gpu_b);
}

Link Platform::pcie_link(int gpu_a, int gpu_b) const {
  if (gpu_a == gpu_b) {
    return Link::Self;
  }
  return pcie_relation(*this, gpus[gpu_a].place(), gpus[gpu_b].place());
}

Link Platform::nic_link(int gpu, int nic) const {
  // A GPU behind NVLink-C2C shares no PCIe tree with any NIC, and nvidia-smi then says SYS for all
  // of them.
  return c2c ? Link::SYS : pcie_relation(*this, gpus[gpu].place(), nics[nic].place());
}

Link Platform::link_of_nics(int nic_a, int nic_b) const {
  return nic_a == nic_b ? Link::Self
                        : pcie_relation(*this, nics[nic_a].place(), nics[nic_b].place());
}

int Platform::top_switch(int pcie_switch) const {
  int top = pcie_switch;
  while (top >= 0 && pcie_switches[top].parent >= 0) {
    top = pcie_switches[top].parent;
  }
  return top;
}

Result<Platform> finish_platform(Platform platform) {
  derive_platform(platform);
  if (const auto faults = check_platform(platform); !faults.empty()) {
    return fail(Code::Invalid, fmt::format("platform {}: {}: {}", platform.name,
                                           faults.front().pointer, faults.front().message));
  }
  platform.table = std::make_shared<const PlacementTable>(platform);
  return platform;
}

} // namespace berth::hardware
