#include "berth/cli/agent/gpu_usage.h"

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "berth/cli/gpu_sharers.h"
#include "berth/kubelet/process_place.h"
#include "berth/node/gpu_devices.h"

namespace berth::cli {
namespace {

struct Owner {
  std::string pod_uid;
  std::string container;
};

/// By the device's id, without what tells who shares it.
std::map<std::string, Owner> owners_of(const std::vector<node::Holding>& holdings) {
  std::map<std::string, Owner> owners;
  for (const node::Holding& holding : holdings) {
    for (const std::string& id : holding.ids()) {
      owners.try_emplace(std::string(node::without_replica(id)),
                         Owner{holding.pod_uid, holding.container});
    }
  }
  return owners;
}

void add_readings(const inventory::GpuReadings& read, server::GpuUsage& to) {
  if (read.percent) {
    to.percent = static_cast<int>(*read.percent);
  }
  to.used_bytes = read.memory_used_bytes;
  if (to.last_xid == 0) {
    to.last_xid = static_cast<int>(read.last_xid.value_or(0));
  }
  to.more = read;
  constexpr std::int64_t kMiB = std::int64_t{1} << 20;
  for (const inventory::GpuProcess& process : read.processes) {
    to.processes.push_back(
        {.pid = process.pid,
         .name = {},
         .used_bytes =
             process.memory_mib < 0 ? std::nullopt : std::optional(process.memory_mib * kMiB),
         .gpu_instance =
             process.gpu_instance < 0 ? std::nullopt : std::optional(process.gpu_instance),
         .pod_uid = {},
         .container = {}});
  }
}

} // namespace

std::vector<server::GpuUsage> gpu_usage(const inventory::Inventory& inventory,
                                        const node::DeviceLedger* ledger) {
  const auto holdings = ledger ? ledger->all() : std::vector<node::Holding>();
  const std::map<std::string, Owner> owners = owners_of(holdings);
  auto sharers = gpu_sharers(holdings, inventory);
  std::vector<server::GpuUsage> all;
  for (const inventory::GpuInfo& gpu : inventory.gpus()) {
    const inventory::GpuProbe probe = inventory.probe(gpu.index);
    server::GpuUsage& one = all.emplace_back();
    one.index = gpu.index;
    one.uuid = gpu.uuid;
    one.product = gpu.product;
    one.pci_bus_id = gpu.pci_bus_id;
    one.memory_bytes = gpu.memory_mib << 20U;
    one.sickness = inventory::illness(probe);
    one.last_xid = probe.last_xid;
    const auto own = [&](const std::string& device, auto& to) {
      if (const auto owner = owners.find(device); owner != owners.end()) {
        to.pod_uid = owner->second.pod_uid;
        to.container = owner->second.container;
      }
    };
    own(gpu.uuid, one);
    one.sharers = std::move(sharers[gpu.index]);
    const inventory::GpuReadings read = inventory.readings(gpu.index);
    add_readings(read, one);
    for (const inventory::MigReading& mig : read.instances) {
      one.instances.push_back({.uuid = mig.uuid,
                               .profile = mig.profile,
                               .gpu_instance = mig.gpu_instance,
                               .percent = {},
                               .used_bytes = mig.used_bytes,
                               .free_bytes = mig.free_bytes,
                               .pod_uid = {},
                               .container = {}});
      own(mig.uuid, one.instances.back());
    }
  }
  return all;
}

void name_processes(std::vector<server::GpuUsage>& gpus, const std::string& procfs,
                    const OwnerOf& owner_of) {
  for (server::GpuUsage& gpu : gpus) {
    for (server::GpuProcess& process : gpu.processes) {
      kubelet::MachineProcess found = kubelet::read_process(procfs, process.pid);
      process.name = std::move(found.name);
      for (const std::string& id : found.containers) {
        if (auto owner = owner_of(id)) {
          process.pod_uid = std::move(owner->pod_uid);
          process.container = std::move(owner->container);
          break;
        }
      }
    }
  }
}

std::vector<server::GpuUsage> machine_gpu_usage(const inventory::Inventory* inventory,
                                                const node::Agent* agent) {
  if (inventory == nullptr) {
    return {};
  }
  auto all = gpu_usage(*inventory, agent ? &agent->devices() : nullptr);
  name_processes(all, "/proc", [agent](std::string_view id) {
    return agent ? agent->owner_of(id) : std::nullopt;
  });
  return all;
}

} // namespace berth::cli
