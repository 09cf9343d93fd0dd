#include "berth/cli/cdi_source.h"

#include <charconv>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "berth/cli/local_gpus.h"
#include "berth/cli/platform_files.h"
#include "berth/deviceplugin/host_driver.h"
#include "berth/deviceplugin/node_specs.h"
#include "berth/inventory/simulated_mig.h"

namespace berth::cli {
namespace {

/// What is asked of each GPU, "1g.10gb=1,2g.20gb=1": several flags may be about one.
using Cuts = std::map<std::size_t, std::string>;

Result<void> add_cut(std::string_view text, std::size_t gpus, Cuts& cuts) {
  const std::size_t colon = text.find(':');
  std::size_t gpu = gpus;
  const auto read = std::from_chars(text.data(), text.data() + std::min(colon, text.size()), gpu);
  if (colon == std::string_view::npos || read.ec != std::errc() ||
      read.ptr != text.data() + colon) {
    return fail(
        Code::BadRequest,
        fmt::format("--mig: want GPU:PROFILE=COUNT[,...], such as 0:1g.10gb=7, got \"{}\"", text));
  }
  if (gpu >= gpus) {
    return fail(Code::BadRequest,
                fmt::format("--mig: the machine has {} GPUs, index asked {}", gpus, gpu));
  }
  std::string& wishes = cuts[gpu];
  wishes += fmt::format("{}{}", wishes.empty() ? "" : ",", text.substr(colon + 1));
  return {};
}

Result<void> cut(const Cuts& cuts, inventory::NodeFacts& facts) {
  for (const auto& [index, wishes] : cuts) {
    inventory::GpuFacts& gpu = facts.gpus[index];
    auto devices = inventory::cut_gpu(gpu, wishes, 1);
    if (!devices) {
      return fail(Code::BadRequest,
                  fmt::format("--mig {}:{}: {}", index, wishes, devices.error().message));
    }
    gpu.mig_enabled = true;
    gpu.mig = *std::move(devices);
  }
  return {};
}

} // namespace

Result<CdiSource> simulated_cdi_source(const SimulatedSource& simulated) {
  BERTH_TRY(const auto platform, find_platform(simulated.platform));
  inventory::NodeFacts facts = inventory::simulated_facts(
      *platform, simulated.node.empty() ? platform->name + "-1" : simulated.node);
  Cuts cuts;
  for (const std::string& text : simulated.cuts) {
    BERTH_CHECK(add_cut(text, facts.gpus.size(), cuts));
  }
  BERTH_CHECK(cut(cuts, facts));
  CdiSource source;
  std::vector<std::string> none_missing;
  source.gpus = deviceplugin::cdi_gpus(
      facts, cdi::MigMinors::usual(static_cast<int>(facts.gpus.size())), none_missing);
  source.options.driver_version = facts.driver;
  return source;
}

Result<CdiSource> local_cdi_source(const Environment& environment, const std::string& root) {
  BERTH_TRY(const auto inventory, open_local_gpus(environment));
  const inventory::NodeFacts facts = inventory->survey();
  if (facts.gpus.empty()) {
    return fail(Code::NotFound, "the driver knows of no GPU");
  }
  BERTH_TRY(deviceplugin::DriverNodes nodes,
            deviceplugin::host_driver_nodes({.root = root, .driver_version = facts.driver}));
  CdiSource source;
  std::vector<std::string> missing;
  source.gpus = deviceplugin::cdi_gpus(facts, nodes.mig, missing);
  if (!missing.empty()) {
    return fail(Code::NotFound,
                fmt::format("the driver has no capability files of MIG device {}; try "
                            "nvidia-modprobe -m",
                            missing.front()));
  }
  for (cdi::NvidiaGpu& gpu : source.gpus) {
    const auto& info = facts.gpus[static_cast<std::size_t>(gpu.index)].info;
    gpu.drm_nodes = deviceplugin::host_drm_nodes(root, info.pci_bus_id);
  }
  source.options.driver_version = facts.driver;
  source.options.uvm_major = nodes.uvm_major;
  source.options.caps_major = nodes.caps_major;
  source.options.files = std::move(nodes.files);
  source.options.library_dir = nodes.library_dir;
  source.notes = std::move(nodes.notes);
  return source;
}

} // namespace berth::cli
