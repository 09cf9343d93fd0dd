#include "berth/hardware/formats/platform_yaml.h"

#include <algorithm>
#include <cctype>

#include <boost/json/value.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/api/json.h"

namespace berth::hardware {

namespace {

/// A YAML scalar that reads as this string: bare where nothing in it can mean something else, else
/// in the JSON form that YAML shares.
std::string text(std::string_view value) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.' ||
           c == ' ' || c == '/';
  };
  static constexpr std::string_view kWords[] = {"true", "false", "yes", "no",  "on",
                                                "off",  "null",  "y",   "nan", "inf"};
  std::string lower(value);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  const bool bare = !value.empty() && std::isalpha(static_cast<unsigned char>(value[0])) != 0 &&
                    value.back() != ' ' && std::ranges::all_of(value, plain) &&
                    std::ranges::find(kWords, lower) == std::end(kWords);
  return bare ? std::string(value) : api::to_json(api::json::value(value));
}

std::string list(const std::vector<std::string>& values) {
  std::vector<std::string> parts;
  for (const std::string& value : values) {
    parts.push_back(text(value));
  }
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

std::string place(const PciePlace& at) {
  return fmt::format("numa: {}, root_complex: {}, pcie_switch: {}", at.numa, at.root_complex,
                     at.pcie_switch);
}

std::string head(const Platform& p) {
  const CpuModel& cpu = p.cpu_model;
  return fmt::format(
      "name: {}\ntitle: {}\nmachine: {}\ninstance_type: {}\nalso_instance_types: {}\n"
      "also_products: {}\ncpu: {{name: {}, vendor: {}, architecture: {}, family: {}, model: {}}}\n"
      "sockets: {}\ncpus: {}\nmemory_gib: {}\ninter_socket_mbps: {}\n"
      "disks: {{root_gib: {}, nvme_drives: {}, nvme_gib: {}}}\n",
      text(p.name), text(p.title), text(p.machine), text(p.instance_type),
      list(p.also_instance_types), list(p.also_products), text(cpu.name), text(cpu.vendor),
      text(cpu.architecture), cpu.family, cpu.model, p.sockets, p.cpus, p.memory_gib,
      p.inter_socket_mbps, p.disks.root_gib, p.disks.nvme_drives, p.disks.nvme_gib);
}

std::string gpu_model(const GpuModel& m) {
  return fmt::format("gpu_model:\n  product: {}\n  family: {}\n  compute: [{}, {}]\n"
                     "  memory_mib: {}\n  mig_capable: {}\n  pci_device: 0x{:04x}\n"
                     "  pcie: {{gen: {}, width: {}, mbps: {}}}\n"
                     "  nvlink: {{links: {}, mbps_per_link: {}}}\n"
                     "  nvls: {{efficiency_percent: {}, ceiling_mbps: {}}}\n",
                     text(m.product), text(m.family), m.compute_major, m.compute_minor,
                     m.memory_mib, m.mig_capable, m.pci_device, m.pcie_gen, m.pcie_width,
                     m.pcie_mbps, m.nvlink_links, m.nvlink_mbps_per_link, m.nvls_efficiency_percent,
                     m.nvls_ceiling_mbps);
}

std::string direct_links(const Platform& p) {
  std::string out;
  for (std::size_t a = 0; a < p.gpus.size() && !p.nvswitch; ++a) {
    for (std::size_t b = a + 1; b < p.gpus.size(); ++b) {
      if (p.nvlinks[a][b] > 0) {
        out += fmt::format("- {{between: [{}, {}], links: {}}}\n", a, b, p.nvlinks[a][b]);
      }
    }
  }
  return out.empty() ? "" : "nvlinks:\n" + out;
}

} // namespace

std::string platform_yaml(const Platform& p) {
  std::string out = head(p) + gpu_model(p.gpu_model);
  out += fmt::format("fabric: {{nvswitch: {}, nvls: {}, c2c: {}, domain_gpus: {}}}\nnuma:\n",
                     p.nvswitch, p.nvls, p.c2c, p.nvlink_domain_gpus);
  for (const NumaNode& node : p.numa) {
    out += fmt::format("- {{id: {}, socket: {}, cpus: \"{}\"}}\n", node.id, node.socket, node.cpus);
  }
  out += p.pcie_switches.empty() ? "pcie_switches: []\n" : "pcie_switches:\n";
  for (const PcieSwitch& s : p.pcie_switches) {
    out +=
        fmt::format("- {{id: {}, parent: {}, root_complex: {}}}\n", s.id, s.parent, s.root_complex);
  }
  out += "gpus:\n";
  for (const Gpu& gpu : p.gpus) {
    out +=
        fmt::format("- {{index: {}, {}, pci_bus_id: \"{}\"{}}}\n", gpu.index, place(gpu.place()),
                    gpu.pci_bus_id,
                    gpu.memory_numa < 0 ? "" : fmt::format(", memory_numa: {}", gpu.memory_numa));
  }
  out += direct_links(p);
  out += p.nics.empty() ? "nics: []\n" : "nics:\n";
  for (const Nic& nic : p.nics) {
    out += fmt::format("- {{name: {}, rail: {}, gbits: {}, {}, pci_bus_id: \"{}\", model: {}, "
                       "layer: {}}}\n",
                       text(nic.name), nic.rail, nic.gbits, place(nic.place()), nic.pci_bus_id,
                       text(nic.model), text(nic.layer));
  }
  return out;
}

} // namespace berth::hardware
