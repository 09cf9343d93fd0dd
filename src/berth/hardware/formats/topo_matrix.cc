#include "berth/hardware/formats/topo_matrix.h"

#include <algorithm>

#include <fmt/format.h>

#include "berth/hardware/platform.h"

namespace berth::hardware {

namespace {

constexpr std::string_view kLegend = R"(
Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)
  NODE = Connection traversing PCIe as well as the interconnect between PCIe Host Bridges within a NUMA node
  PHB  = Connection traversing PCIe as well as a PCIe Host Bridge (typically the CPU)
  PXB  = Connection traversing multiple PCIe bridges (without traversing the PCIe Host Bridge)
  PIX  = Connection traversing at most a single PCIe bridge
  NV#  = Connection traversing a bonded set of # NVLinks
)";

TopoCell gpu_cell(const Platform& platform, int a, int b) {
  const Link kind = platform.link(a, b);
  return {.kind = kind, .nvlinks = kind == Link::NVLink ? platform.nvlinks[a][b] : 0};
}

TopoCell cell_between(const Platform& platform, std::size_t a, std::size_t b) {
  const std::size_t gpus = platform.gpus.size();
  const int left = static_cast<int>(a < gpus ? a : a - gpus);
  const int right = static_cast<int>(b < gpus ? b : b - gpus);
  if (a < gpus && b < gpus) {
    return gpu_cell(platform, left, right);
  }
  if (a >= gpus && b >= gpus) {
    return {.kind = platform.link_of_nics(left, right)};
  }
  return {.kind = a < gpus ? platform.nic_link(left, right) : platform.nic_link(right, left)};
}

std::string column_name(const TopoMatrix& matrix, std::size_t device) {
  return device < matrix.gpus() ? fmt::format("GPU{}", device)
                                : fmt::format("NIC{}", device - matrix.gpus());
}

} // namespace

std::size_t TopoMatrix::gpus() const {
  return static_cast<std::size_t>(
      std::ranges::count(devices, TopoDevice::Kind::Gpu, &TopoDevice::kind));
}

TopoMatrix topo_matrix(const Platform& platform) {
  TopoMatrix matrix;
  for (const Gpu& gpu : platform.gpus) {
    matrix.devices.push_back(
        {.kind = TopoDevice::Kind::Gpu,
         .name = fmt::format("GPU{}", gpu.index),
         .cpus = platform.numa[static_cast<std::size_t>(gpu.numa)].cpus,
         .numa_affinity = fmt::to_string(gpu.numa),
         .memory_numa = gpu.memory_numa < 0 ? std::nullopt : std::optional(gpu.memory_numa)});
  }
  for (const Nic& nic : platform.nics) {
    matrix.devices.push_back({.kind = TopoDevice::Kind::Nic, .name = nic.name});
  }
  const std::size_t n = matrix.devices.size();
  matrix.cells.assign(n, std::vector<TopoCell>(n));
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t b = 0; b < n; ++b) {
      matrix.cells[a][b] = cell_between(platform, a, b);
    }
  }
  return matrix;
}

std::string to_string(const TopoCell& cell) {
  return cell.kind == Link::NVLink ? fmt::format("NV{}", cell.nvlinks)
                                   : std::string(to_string(cell.kind));
}

std::string to_text(const TopoMatrix& matrix, TopoStyle style) {
  const std::size_t gpus = matrix.gpus();
  std::string header;
  for (std::size_t i = 0; i < matrix.devices.size(); ++i) {
    header += column_name(matrix, i) + "\t";
  }
  header += "CPU Affinity\tNUMA Affinity\tGPU NUMA ID";
  std::string out = style == TopoStyle::Underlined ? fmt::format("\t\033[4m{}\033[0m\n", header)
                                                   : fmt::format("\t{}\n", header);
  for (std::size_t a = 0; a < matrix.devices.size(); ++a) {
    out += column_name(matrix, a);
    for (const TopoCell& cell : matrix.cells[a]) {
      out += cell.kind == Link::Self ? "\t X " : "\t" + to_string(cell);
    }
    const TopoDevice& device = matrix.devices[a];
    // The blank column before the last one is the tool's own.
    out += a < gpus ? fmt::format("\t{}\t{}\t\t{}\n", device.cpus, device.numa_affinity,
                                  device.memory_numa ? fmt::to_string(*device.memory_numa) : "N/A")
                    : "\t\t\t\t\n";
  }
  out += kLegend;
  if (gpus < matrix.devices.size()) {
    out += "\nNIC Legend:\n\n";
    for (std::size_t a = gpus; a < matrix.devices.size(); ++a) {
      out += fmt::format("  {}: {}\n", column_name(matrix, a), matrix.devices[a].name);
    }
  }
  return out + "\n";
}

} // namespace berth::hardware
