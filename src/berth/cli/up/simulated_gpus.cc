#include "berth/cli/up/simulated_gpus.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <tuple>

#include "berth/cli/gpu_sharers.h"
#include "berth/hardware/gpu_limits.h"
#include "berth/node/gpu_devices.h"

namespace berth::cli {
namespace {

constexpr double kWhole = 100; ///< percent

bool runs(const std::vector<runtime::ContainerStatus>& running, const node::Holding& holding) {
  return std::ranges::any_of(running, [&](const runtime::ContainerStatus& each) {
    return each.pod_uid == holding.pod_uid && each.name == holding.container;
  });
}

/// So much memory, and time in the same proportion.
void take_bytes(std::int64_t bytes, std::int64_t of, GpuClaim& claim) {
  claim.bytes = bytes;
  claim.time = of > 0 ? static_cast<double>(bytes) / static_cast<double>(of) : 0;
}

/// What a part is of a GPU's time and memory.
void take_part(const node::GpuPart& part, std::int64_t memory, GpuClaim& claim) {
  constexpr double kMilli = 1000;
  const double time = part.milli > 0 ? part.milli / kMilli : part.cores / kWhole;
  const auto bytes = static_cast<std::int64_t>(time * static_cast<double>(memory));
  take_bytes(part.memory > 0 ? part.memory : bytes, memory, claim);
  if (time > 0) {
    claim.time = time;
  }
}

/// Those who have a GPU whole, whether they run yet or not; of two containers of a pod the one that
/// runs. By UUID.
std::map<std::string, ContainerKey>
owners_of(const std::vector<node::Holding>& holdings,
          const std::vector<runtime::ContainerStatus>& running) {
  std::map<std::string, ContainerKey> owners;
  for (const node::Holding& holding : holdings) {
    if (holding.part) {
      continue;
    }
    for (const std::string& id : holding.ids()) {
      const ContainerKey key(holding.pod_uid, holding.container);
      const auto [at, fresh] = owners.try_emplace(id, key);
      if (!fresh && runs(running, holding)) {
        at->second = key;
      }
    }
  }
  return owners;
}

runtime::Load load_of(const std::map<ContainerKey, runtime::Load>& loads, const ContainerKey& key) {
  const auto found = loads.find(key);
  return found == loads.end() ? runtime::Load() : found->second;
}

/// MIG devices by UUID, and the GPUs that are cut.
struct Cut {
  std::map<int, std::vector<inventory::MigDevice>> devices; ///< by GPU
  const inventory::MigDevice* find(int gpu, std::string_view uuid) const {
    const auto of_gpu = devices.find(gpu);
    if (of_gpu == devices.end()) {
      return nullptr;
    }
    const auto found = std::ranges::find(of_gpu->second, uuid, &inventory::MigDevice::uuid);
    return found == of_gpu->second.end() ? nullptr : &*found;
  }
};

Cut cut_of(const inventory::SimulatedInventory& inventory) {
  Cut cut;
  for (inventory::GpuFacts& gpu : inventory.survey().gpus) {
    if (gpu.mig_enabled) {
      cut.devices.emplace(gpu.info.index, std::move(gpu.mig));
    }
  }
  return cut;
}

/// What the driver of a GPU that computes for so much of the time would tell.
model::GpuReadings readings_of(const server::GpuUsage& gpu, double busy, int pcie_mbps) {
  const hardware::GpuLimits limits = hardware::gpu_limits(gpu.product);
  const auto at = [&](double idle, double full) {
    return static_cast<std::int64_t>(std::llround(idle + (full - idle) * busy));
  };
  constexpr double kIdleClock = 0.17;    // of the highest
  constexpr double kMost = 950;          // milliwatts of each watt of the limit
  constexpr double kLink = 1e6 * 0.25;   // bytes of each megabyte that PCIe carries
  const double link = pcie_mbps * kLink; // data comes in more than it goes out
  model::GpuReadings to;
  to.sm_clock_mhz = busy > 0 ? limits.sm_mhz : std::llround(limits.sm_mhz * kIdleClock);
  to.memory_clock_mhz = limits.memory_mhz;
  to.celsius = at(29, 68);
  if (limits.stacked_memory) {
    to.memory_celsius = at(38, 80);
  }
  to.milliwatts = at(limits.idle_watts * 1000.0, limits.most_watts * kMost);
  to.memory_copy_percent = at(0, 62);
  to.encoder_percent = 0;
  to.decoder_percent = 0;
  to.pcie_replays = 0;
  to.uncorrected_rows = 0;
  to.corrected_rows = 0;
  to.row_failure = 0;
  to.vgpu_license = 0;
  to.memory_reserved_bytes = 0;
  to.tensor_permille = at(0, 550);
  to.dram_permille = at(0, 600);
  to.pcie_sent = at(0, link / 2);
  to.pcie_received = at(0, link);
  return to;
}

/// What of each GPU the containers that run make of it.
struct Work {
  double busy = 0;   ///< 0 to 1
  double linked = 0; ///< of that, by containers that have several GPUs
  std::int64_t used_bytes = 0;
};

class Look {
 public:
  Look(const node::SimulatedMachine& machine, const std::vector<runtime::ContainerStatus>& running,
       const std::vector<GpuClaim>& claims, const std::map<ContainerKey, runtime::Load>& loads)
      : inventory_(&machine.inventory()), claims_(&claims), loads_(&loads),
        cut_(cut_of(*inventory_)) {
    std::vector<node::Holding> holdings = machine.agent()->devices().all();
    owners_ = owners_of(holdings, running);
    std::erase_if(holdings, [&](const node::Holding& each) { return !runs(running, each); });
    sharers_ = gpu_sharers(holdings, *inventory_);
    for (const GpuClaim& claim : claims) {
      gpus_of_[claim.container].insert(claim.gpu);
    }
  }

  server::GpuUsage usage(const inventory::GpuInfo& gpu) const {
    const inventory::GpuProbe probe = inventory_->probe(gpu.index);
    server::GpuUsage one{.index = gpu.index,
                         .uuid = gpu.uuid,
                         .product = gpu.product,
                         .pci_bus_id = gpu.pci_bus_id,
                         .memory_bytes = gpu.memory_mib << 20U,
                         .sickness = inventory::illness(probe),
                         .last_xid = probe.last_xid,
                         .pod_uid = {},
                         .container = {}};
    if (const auto shared = sharers_.find(gpu.index); shared != sharers_.end()) {
      one.sharers = shared->second;
      one.pod_uid = one.sharers.front().pod_uid;
      one.container = one.sharers.front().container;
    }
    own(gpu.uuid, one);
    const bool well = one.sickness.empty();
    if (const auto devices = cut_.devices.find(gpu.index); devices != cut_.devices.end()) {
      for (const inventory::MigDevice& device : devices->second) {
        one.instances.push_back(instance(device, well));
      }
    }
    return one;
  }

  Work work_of(int gpu) const {
    Work work;
    for (const GpuClaim& claim : *claims_) {
      if (claim.gpu == gpu) {
        const runtime::Load load = load_of(*loads_, claim.container);
        const double busy = claim.time * load.gpu_percent / kWhole;
        work.busy += busy;
        work.linked += gpus_of_.at(claim.container).size() > 1 ? busy : 0;
        work.used_bytes += part_of(claim.bytes, load.gpu_memory_percent);
      }
    }
    work.busy = std::min(work.busy, 1.0);
    work.linked = std::min(work.linked, work.busy);
    return work;
  }

  bool is_cut(int gpu) const { return cut_.devices.contains(gpu); }

 private:
  static std::int64_t part_of(std::int64_t bytes, int percent) { return bytes / 100 * percent; }

  template <class Device> void own(const std::string& uuid, Device& device) const {
    if (const auto owner = owners_.find(uuid); owner != owners_.end()) {
      std::tie(device.pod_uid, device.container) = owner->second;
    }
  }

  server::MigUsage instance(const inventory::MigDevice& device, bool well) const {
    server::MigUsage mig{.uuid = device.uuid,
                         .profile = device.profile,
                         .gpu_instance = device.gpu_instance,
                         .pod_uid = {},
                         .container = {}};
    own(device.uuid, mig);
    if (well) {
      const runtime::Load load = load_of(*loads_, {mig.pod_uid, mig.container});
      const std::int64_t memory = device.memory_mib << 20;
      mig.percent = load.gpu_percent;
      mig.used_bytes = part_of(memory, load.gpu_memory_percent);
      mig.free_bytes = memory - *mig.used_bytes;
    }
    return mig;
  }

  const inventory::SimulatedInventory* inventory_;
  const std::vector<GpuClaim>* claims_;
  const std::map<ContainerKey, runtime::Load>* loads_;
  Cut cut_;
  std::map<std::string, ContainerKey> owners_; ///< by UUID
  std::map<int, std::vector<server::GpuSharer>> sharers_;
  std::map<ContainerKey, std::set<int>> gpus_of_;
};

} // namespace

std::vector<GpuClaim> gpu_claims(const node::SimulatedMachine& machine,
                                 const std::vector<runtime::ContainerStatus>& running) {
  const inventory::SimulatedInventory& inventory = machine.inventory();
  node::GpuDevices places(&inventory);
  std::optional<Cut> cut;
  std::vector<GpuClaim> claims;
  std::map<int, int> replicas; // by GPU
  std::vector<std::size_t> shared;
  for (const node::Holding& holding : machine.agent()->devices().all()) {
    if (!runs(running, holding)) {
      continue;
    }
    for (const std::string& id : holding.ids()) {
      const auto gpu = places.gpu_of(id);
      if (!gpu) {
        continue;
      }
      const std::int64_t memory = inventory.gpus()[static_cast<std::size_t>(*gpu)].memory_mib << 20;
      GpuClaim claim{
          .gpu = *gpu, .container = {holding.pod_uid, holding.container}, .bytes = memory};
      const std::string_view device = node::without_replica(id);
      if (device.starts_with("MIG-")) {
        if (!cut) {
          cut = cut_of(inventory);
        }
        const inventory::MigDevice* mig = cut->find(*gpu, device);
        take_bytes(mig == nullptr ? 0 : mig->memory_mib << 20, memory, claim);
      } else if (holding.part) {
        take_part(holding.part->of(id), memory, claim);
      }
      if (device != id) {
        ++replicas[*gpu];
        shared.push_back(claims.size());
      }
      claims.push_back(std::move(claim));
    }
  }
  for (const std::size_t i : shared) {
    const int count = replicas[claims[i].gpu];
    claims[i].time /= count;
    claims[i].bytes /= count;
  }
  return claims;
}

void SimulatedGpus::count(const std::string& machine, server::GpuUsage& gpu,
                          double nvlink_kib_per_second, TimePoint now) {
  constexpr double kMillis = 1000;
  Counters& counters =
      counters_.try_emplace({machine, gpu.index}, Counters{.at = now}).first->second;
  const double seconds = static_cast<double>((now - counters.at).count_millis()) / kMillis;
  counters.at = now;
  counters.energy_mj += static_cast<double>(gpu.more.milliwatts.value_or(0)) * seconds;
  counters.nvlink_kib += nvlink_kib_per_second * seconds;
  gpu.more.energy_mj = static_cast<std::int64_t>(counters.energy_mj);
  gpu.more.nvlink_kib = static_cast<std::int64_t>(counters.nvlink_kib);
}

std::vector<server::GpuUsage>
SimulatedGpus::usage(const node::SimulatedMachine& machine,
                     const std::vector<runtime::ContainerStatus>& running,
                     const std::vector<GpuClaim>& claims,
                     const std::map<ContainerKey, runtime::Load>& loads, TimePoint now) {
  constexpr double kKibOfMegabyte = 1e6 / 1024;
  constexpr double kLinkLoad = 0.2; // of what NVLink carries
  const Look look(machine, running, claims, loads);
  const hardware::Platform* platform = machine.inventory().platform();
  const hardware::GpuModel model = platform ? platform->gpu_model : hardware::GpuModel();
  const double link = static_cast<double>(model.nvlink_links) * model.nvlink_mbps_per_link *
                      kKibOfMegabyte * kLinkLoad;
  std::vector<server::GpuUsage> usage;
  for (const inventory::GpuInfo& gpu : machine.inventory().gpus()) {
    server::GpuUsage& one = usage.emplace_back(look.usage(gpu));
    if (!one.sickness.empty()) {
      continue;
    }
    const Work work = look.work_of(gpu.index);
    if (!look.is_cut(gpu.index)) {
      one.percent = static_cast<int>(std::lround(work.busy * kWhole));
    }
    one.used_bytes = std::min(work.used_bytes, one.memory_bytes);
    one.more = readings_of(one, work.busy, model.pcie_mbps);
    count(machine.name(), one, work.linked * link, now);
  }
  return usage;
}

} // namespace berth::cli
