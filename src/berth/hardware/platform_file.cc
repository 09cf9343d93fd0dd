// Reading a platform's data file. The format is the one of the files in platforms/, where every
// field is required unless said otherwise here.
#include <algorithm>
#include <iterator>
#include <vector>

#include <fmt/format.h>

#include "berth/hardware/fields.h"
#include "berth/hardware/platform.h"
#include "berth/hardware/platform_check.h"

namespace berth::hardware {

namespace {

constexpr Range kId{.low = 0, .high = 1023};
constexpr Range kIdOrNone{.low = -1, .high = 1023};
constexpr Range kMbps{.low = 0, .high = 10'000'000};

void read_gpu_model(Fields& in, GpuModel& model) {
  model.product = in.text("product");
  model.family = in.text("family");
  const auto compute = in.numbers("compute", 2, {.low = 0, .high = 99});
  model.compute_major = compute[0];
  model.compute_minor = compute[1];
  model.memory_mib = in.number("memory_mib", {.low = 1, .high = 16 << 20});
  model.mig_capable = in.flag("mig_capable");
  model.pci_device = in.number("pci_device", {.low = 0, .high = 0xffff});
  in.mapping("pcie", [&](Fields& pcie) {
    model.pcie_gen = pcie.number("gen", {.low = 1, .high = 8});
    model.pcie_width = pcie.number("width", {.low = 1, .high = 32});
    model.pcie_mbps = pcie.number("mbps", {.low = 1, .high = kMbps.high});
  });
  in.mapping("nvlink", [&](Fields& nvlink) {
    model.nvlink_links = nvlink.number("links", {.low = 0, .high = 72});
    model.nvlink_mbps_per_link = nvlink.number("mbps_per_link", kMbps);
  });
  in.mapping("nvls", [&](Fields& nvls) {
    model.nvls_efficiency_percent = nvls.number("efficiency_percent", {.low = 0, .high = 100});
    model.nvls_ceiling_mbps = nvls.number("ceiling_mbps", kMbps);
  });
}

void read_cpus(Fields& in, Platform& platform) {
  in.mapping("cpu", [&](Fields& cpu) {
    platform.cpu_model.name = cpu.text("name");
    platform.cpu_model.vendor = cpu.text("vendor");
    platform.cpu_model.architecture = cpu.text("architecture");
    platform.cpu_model.family = cpu.number("family", {.low = 0, .high = 0xffff});
    platform.cpu_model.model = cpu.number("model", {.low = 0, .high = 0xffff});
  });
  platform.sockets = in.number("sockets", {.low = 1, .high = 16});
  platform.cpus = in.number("cpus", {.low = 1, .high = 65536});
  platform.memory_gib = in.number("memory_gib", {.low = 1, .high = 1 << 20});
  platform.inter_socket_mbps = in.number("inter_socket_mbps", {.low = 1, .high = kMbps.high});
  in.mapping("disks", [&](Fields& disks) {
    platform.disks.root_gib = disks.number("root_gib", {.low = 1, .high = 1 << 20});
    platform.disks.nvme_drives = disks.number("nvme_drives", {.low = 0, .high = 128});
    platform.disks.nvme_gib = disks.number("nvme_gib", {.low = 0, .high = 1 << 20});
  });
  in.each("numa", [&](Fields& node) {
    platform.numa.push_back({.id = node.number("id", kId),
                             .socket = node.number("socket", kId),
                             .cpus = node.text("cpus")});
  });
}

void read_devices(Fields& in, Platform& platform) {
  in.each("pcie_switches", [&](Fields& s) {
    platform.pcie_switches.push_back({.id = s.number("id", kId),
                                      .parent = s.number("parent", kIdOrNone),
                                      .root_complex = s.number("root_complex", kId)});
  });
  in.each("gpus", [&](Fields& gpu) {
    platform.gpus.push_back({.index = gpu.number("index", kId),
                             .numa = gpu.number("numa", kId),
                             .pcie_switch = gpu.number("pcie_switch", kIdOrNone),
                             .root_complex = gpu.number("root_complex", kId),
                             .pci_bus_id = gpu.text("pci_bus_id"),
                             .memory_numa = gpu.number_or("memory_numa", kIdOrNone, -1)});
  });
  in.each("nics", [&](Fields& nic) {
    platform.nics.push_back({.name = nic.text("name"),
                             .rail = nic.number("rail", kIdOrNone),
                             .gbits = nic.number("gbits", {.low = 1, .high = 10'000}),
                             .numa = nic.number("numa", kId),
                             .pcie_switch = nic.number("pcie_switch", kIdOrNone),
                             .root_complex = nic.number("root_complex", kId),
                             .pci_bus_id = nic.text("pci_bus_id"),
                             .model = nic.text("model"),
                             .layer = nic.text("layer")});
  });
}

/// Direct links come as a list of pairs; over an NVSwitch every pair has all of a GPU's links and
/// no list is given.
void read_nvlinks(DocumentReading& reading, Fields& in, Platform& platform) {
  const auto n = platform.gpus.size();
  platform.nvlinks.assign(n, std::vector<int>(n, 0));
  if (!in.has("nvlinks")) {
    return;
  }
  std::size_t row = 0;
  in.each("nvlinks", [&](Fields& pair) {
    const auto ends = pair.numbers(
        "between", 2, {.low = 0, .high = std::max<std::int64_t>(0, std::ssize(platform.gpus) - 1)});
    const int links = pair.number("links", {.low = 1, .high = 72});
    const auto at = fmt::format("/nvlinks/{}", row++);
    if (n == 0) {
      return;
    }
    if (ends[0] == ends[1]) {
      reading.report(at + "/between", fmt::format("a GPU has no link to itself: {}", ends[0]));
    } else if (platform.nvlinks[ends[0]][ends[1]] != 0) {
      reading.report(at + "/between", fmt::format("pair given twice: {} and {}", ends[0], ends[1]));
    } else if (platform.nvswitch) {
      reading.report(at, "links are only listed for machines without NVSwitch");
    } else {
      platform.nvlinks[ends[0]][ends[1]] = links;
      platform.nvlinks[ends[1]][ends[0]] = links;
    }
  });
}

Platform read_platform(DocumentReading& reading) {
  Platform platform;
  Fields in(reading, reading.document.value, "");
  platform.name = in.text("name");
  platform.title = in.text("title");
  platform.machine = in.text("machine");
  platform.instance_type = in.text("instance_type");
  platform.also_instance_types = in.texts("also_instance_types");
  platform.also_products = in.texts("also_products");
  read_cpus(in, platform);
  in.mapping("gpu_model", [&](Fields& model) { read_gpu_model(model, platform.gpu_model); });
  in.mapping("fabric", [&](Fields& fabric) {
    platform.nvswitch = fabric.flag("nvswitch");
    platform.nvls = fabric.flag("nvls");
    platform.c2c = fabric.flag("c2c");
    platform.nvlink_domain_gpus = fabric.number("domain_gpus", {.low = 0, .high = 4096});
  });
  read_devices(in, platform);
  read_nvlinks(reading, in, platform);
  in.finish();
  return platform;
}

/// Of a file about something else, every field of a platform would be an error.
Result<void> check_is_platform(const std::vector<api::YamlDocument>& documents,
                               std::string_view file) {
  constexpr std::string_view kHow =
      "berth hardware import makes one of what nvidia-smi topo -m prints";
  const Where where{.file = std::string(file), .line = 0, .column = 0, .field = ""};
  if (documents.empty()) {
    return fail_at(where, fmt::format("the file is empty, no platform file; {}", kHow));
  }
  if (documents.size() > 1) {
    return fail_at(
        where, fmt::format("a platform file holds one document, this one {}", documents.size()));
  }
  const auto* fields = documents.front().value.if_object();
  if (fields == nullptr || (!fields->contains("name") && !fields->contains("gpus"))) {
    return fail_at(where, fmt::format("no platform file: it has neither name nor gpus; {}", kHow));
  }
  return {};
}

/// One error as it is; several as the first one with the others as causes.
Error joined(std::vector<Error> errors) {
  Error first = std::move(errors.front());
  first.causes.assign(std::make_move_iterator(errors.begin() + 1),
                      std::make_move_iterator(errors.end()));
  return first;
}

} // namespace

Result<Platform> Catalogue::parse_platform(std::string_view yaml, std::string_view file) {
  BERTH_TRY(const auto documents, api::parse_yaml(yaml, file));
  BERTH_CHECK(check_is_platform(documents, file));
  DocumentReading reading{.document = documents.front(), .file = std::string(file), .errors = {}};
  Platform platform = read_platform(reading);
  if (reading.errors.empty()) {
    derive_platform(platform);
    for (auto& fault : check_platform(platform)) {
      reading.report(fault.pointer, std::move(fault.message));
    }
  }
  if (!reading.errors.empty()) {
    return tl::unexpected(joined(std::move(reading.errors)));
  }
  return finish_platform(std::move(platform));
}

} // namespace berth::hardware
