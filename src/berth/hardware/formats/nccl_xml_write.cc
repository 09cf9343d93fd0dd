#include <algorithm>
#include <map>
#include <sstream>

#include <fmt/format.h>
#include <pugixml.hpp>

#include "berth/hardware/formats/nccl_xml.h"
#include "berth/hardware/identity.h"

namespace berth::hardware {

namespace {

constexpr NicModel kNicModels[] = {{"ConnectX-5", 0x15b3, 0x1017, 100},
                                   {"ConnectX-6", 0x15b3, 0x101b, 200},
                                   {"ConnectX-6 Dx", 0x15b3, 0x101d, 100},
                                   {"ConnectX-7", 0x15b3, 0x1021, 400},
                                   {"ConnectX-8", 0x15b3, 0x1023, 800},
                                   {"BlueField-2", 0x15b3, 0xa2d6, 200},
                                   {"BlueField-3", 0x15b3, 0xa2dc, 400},
                                   {"ENA", 0x1d0f, 0xec20, 25},
                                   {"EFA", 0x1d0f, 0xefa0, 100},
                                   {"EFA", 0x1d0f, 0xefa1, 100},
                                   {"EFA", 0x1d0f, 0xefa2, 200}};

/// NVLink-C2C between a GPU and its Grace, one direction: 450 GB/s, as ten links.
constexpr int kC2cLinks = 10;
constexpr int kC2cMbpsOfALink = 45'000;

/// "00000000:1B:00.0" and "0000:1b:00.0" are one place; NCCL writes the second.
std::string bus_of(std::string_view bus) {
  std::string short_form(bus.substr(bus.size() > 12 ? bus.size() - 12 : 0));
  std::ranges::transform(short_form, short_form.begin(), [](unsigned char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : static_cast<char>(c);
  });
  return short_form;
}

/// sysfs' words for a PCIe generation.
std::string_view link_speed(int generation) {
  static constexpr std::string_view kSpeeds[] = {"2.5 GT/s PCIe",  "5.0 GT/s PCIe",
                                                 "8.0 GT/s PCIe",  "16.0 GT/s PCIe",
                                                 "32.0 GT/s PCIe", "64.0 GT/s PCIe"};
  return kSpeeds[std::clamp(generation, 1, 6) - 1];
}

void set(pugi::xml_node node, const char* name, const std::string& value) {
  node.append_attribute(name) = value.c_str();
}

class Writer {
 public:
  explicit Writer(const Platform& platform) : p_(platform) {}

  std::string run() {
    auto system = document_.append_child("system");
    set(system, "version", "1");
    for (const NumaNode& node : p_.numa) {
      add_cpu(system, node);
    }
    for (const Gpu& gpu : p_.gpus) {
      add_gpu(gpu);
    }
    for (std::size_t i = 0; i < p_.nics.size(); ++i) {
      add_nic(p_.nics[i], i);
    }
    std::ostringstream out;
    document_.save(out, "  ", pugi::format_indent | pugi::format_no_declaration);
    return out.str();
  }

 private:
  void add_cpu(pugi::xml_node system, const NumaNode& node) {
    auto cpu = system.append_child("cpu");
    set(cpu, "host_hash", fmt::format("0x{:x}", mix(p_.name, 0)));
    set(cpu, "numaid", fmt::to_string(node.id));
    set(cpu, "affinity", cpu_mask(node.cpus, p_.cpus));
    set(cpu, "arch", p_.cpu_model.architecture == "amd64" ? "x86_64" : p_.cpu_model.architecture);
    set(cpu, "vendor", p_.cpu_model.vendor);
    set(cpu, "familyid", fmt::to_string(p_.cpu_model.family));
    set(cpu, "modelid", fmt::to_string(p_.cpu_model.model));
    cpus_[node.id] = cpu;
  }

  pugi::xml_node add_pci(pugi::xml_node parent, const std::string& bus, int pci_class, int vendor,
                         int device) {
    auto pci = parent.append_child("pci");
    set(pci, "busid", bus);
    set(pci, "class", fmt::format("0x{:06x}", pci_class));
    if (vendor != 0) {
      set(pci, "vendor", fmt::format("0x{:04x}", vendor));
      set(pci, "device", fmt::format("0x{:04x}", device));
    }
    set(pci, "link_speed", std::string(link_speed(p_.gpu_model.pcie_gen)));
    set(pci, "link_width", fmt::to_string(p_.gpu_model.pcie_width));
    return pci;
  }

  /// The element of the switch, made with those above it when first asked for.
  pugi::xml_node above(const PciePlace& place) {
    if (place.pcie_switch < 0) {
      return cpus_[place.numa];
    }
    if (const auto made = switches_.find(place.pcie_switch); made != switches_.end()) {
      return made->second;
    }
    const PcieSwitch& s = p_.pcie_switches[static_cast<std::size_t>(place.pcie_switch)];
    const auto parent =
        above({.numa = place.numa, .root_complex = place.root_complex, .pcie_switch = s.parent});
    const auto made =
        add_pci(parent, fmt::format("ffff:{:02x}:{:02x}.0", 0xff - s.id / 31, s.id % 31 + 1),
                0x060400, 0, 0);
    switches_.emplace(s.id, made);
    return made;
  }

  void add_gpu(const Gpu& gpu) {
    auto pci = add_pci(above(gpu.place()), bus_of(gpu.pci_bus_id), 0x030200, 0x10de,
                       p_.gpu_model.pci_device);
    auto node = pci.append_child("gpu");
    set(node, "dev", fmt::to_string(gpu.index));
    set(node, "sm", fmt::to_string(p_.gpu_model.compute_major * 10 + p_.gpu_model.compute_minor));
    set(node, "rank", fmt::to_string(gpu.index));
    set(node, "gdr", "1");
    if (p_.nvswitch) {
      // The address stands for a switch that the machine does not see, as inside a VM.
      add_nvlink(node, "fffffff:ffff:ff", p_.gpu_model.nvlink_links, "0x068000");
    } else {
      for (const Gpu& peer : p_.gpus) {
        const int links =
            p_.nvlinks[static_cast<std::size_t>(gpu.index)][static_cast<std::size_t>(peer.index)];
        if (links > 0) {
          add_nvlink(node, bus_of(peer.pci_bus_id), links, "0x030200");
        }
      }
    }
    if (p_.c2c) {
      auto c2c = node.append_child("c2c");
      set(c2c, "bw", fmt::to_string(kC2cMbpsOfALink));
      set(c2c, "count", fmt::to_string(kC2cLinks));
    }
  }

  static void add_nvlink(pugi::xml_node gpu, const std::string& target, int count,
                         const char* target_class) {
    auto link = gpu.append_child("nvlink");
    set(link, "target", target);
    set(link, "count", fmt::to_string(count));
    set(link, "tclass", target_class);
  }

  void add_nic(const Nic& nic, std::size_t index) {
    const NicModel* model = nic_model(nic.model);
    auto pci = add_pci(above(nic.place()), bus_of(nic.pci_bus_id),
                       nic.layer == "infiniband" ? 0x020700 : 0x020000,
                       model == nullptr ? 0 : model->vendor, model == nullptr ? 0 : model->device);
    auto net = pci.append_child("nic").append_child("net");
    set(net, "name", nic.name);
    set(net, "dev", fmt::to_string(index));
    set(net, "speed", fmt::to_string(std::int64_t{nic.gbits} * 1000));
    set(net, "port", "1");
    set(net, "latency", "0.000000");
    set(net, "guid", fmt::format("0x{:x}", mix(p_.name, index + 1)));
    set(net, "maxconn", "131072");
    set(net, "gdr", "1");
  }

  const Platform& p_;
  pugi::xml_document document_;
  std::map<int, pugi::xml_node> cpus_;
  std::map<int, pugi::xml_node> switches_;
};

} // namespace

const NicModel* nic_model(std::string_view name) {
  const auto* found = std::ranges::find(kNicModels, name, &NicModel::name);
  return found == std::end(kNicModels) ? nullptr : found;
}

const NicModel* nic_model(int vendor, int device) {
  const auto* found = std::ranges::find_if(kNicModels, [&](const NicModel& model) {
    return model.vendor == vendor && model.device == device;
  });
  return found == std::end(kNicModels) ? nullptr : found;
}

std::string nccl_xml(const Platform& platform) {
  return Writer(platform).run();
}

} // namespace berth::hardware
