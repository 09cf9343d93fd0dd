#include "berth/kubelet/gpu_stats.h"

#include <array>
#include <optional>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

namespace berth::kubelet {
namespace {

namespace json = api::json;
using model::GpuReadings;
using server::GpuUsage;

struct Reading {
  const char* name;
  GpuReadings::Number GpuReadings::*value;
};
constexpr std::array<Reading, 29> kReadings{
    {{"memoryFreeBytes", &GpuReadings::memory_free_bytes},
     {"memoryReservedBytes", &GpuReadings::memory_reserved_bytes},
     {"memoryCopyPercent", &GpuReadings::memory_copy_percent},
     {"encoderPercent", &GpuReadings::encoder_percent},
     {"decoderPercent", &GpuReadings::decoder_percent},
     {"smClockMhz", &GpuReadings::sm_clock_mhz},
     {"memoryClockMhz", &GpuReadings::memory_clock_mhz},
     {"celsius", &GpuReadings::celsius},
     {"memoryCelsius", &GpuReadings::memory_celsius},
     {"milliwatts", &GpuReadings::milliwatts},
     {"energyMj", &GpuReadings::energy_mj},
     {"pcieReplays", &GpuReadings::pcie_replays},
     {"eccSingleVolatile", &GpuReadings::ecc_single_volatile},
     {"eccDoubleVolatile", &GpuReadings::ecc_double_volatile},
     {"eccSingleAggregate", &GpuReadings::ecc_single_aggregate},
     {"eccDoubleAggregate", &GpuReadings::ecc_double_aggregate},
     {"correctedRows", &GpuReadings::corrected_rows},
     {"uncorrectedRows", &GpuReadings::uncorrected_rows},
     {"rowFailure", &GpuReadings::row_failure},
     {"nvlinkFlitErrors", &GpuReadings::nvlink_flit_errors},
     {"nvlinkDataErrors", &GpuReadings::nvlink_data_errors},
     {"nvlinkReplays", &GpuReadings::nvlink_replays},
     {"nvlinkRecoveries", &GpuReadings::nvlink_recoveries},
     {"nvlinkKib", &GpuReadings::nvlink_kib},
     {"pcieSent", &GpuReadings::pcie_sent},
     {"pcieReceived", &GpuReadings::pcie_received},
     {"vgpuLicense", &GpuReadings::vgpu_license},
     {"tensorPermille", &GpuReadings::tensor_permille},
     {"dramPermille", &GpuReadings::dram_permille}}};

json::object document_of(const server::MigUsage& mig) {
  json::object out{{"uuid", mig.uuid}, {"profile", mig.profile}, {"gpuInstance", mig.gpu_instance}};
  if (mig.percent) {
    out["percent"] = *mig.percent;
  }
  if (mig.used_bytes) {
    out["usedBytes"] = *mig.used_bytes;
  }
  if (mig.free_bytes) {
    out["freeBytes"] = *mig.free_bytes;
  }
  if (!mig.pod_uid.empty()) {
    out["pod"] = json::object{{"uid", mig.pod_uid}, {"container", mig.container}};
  }
  return out;
}

json::object document_of(const server::GpuProcess& process) {
  json::object out{{"pid", process.pid}, {"name", process.name}};
  if (process.used_bytes) {
    out["usedBytes"] = *process.used_bytes;
  }
  if (process.gpu_instance) {
    out["gpuInstance"] = *process.gpu_instance;
  }
  if (!process.pod_uid.empty()) {
    out["pod"] = json::object{{"uid", process.pod_uid}, {"container", process.container}};
  }
  return out;
}

json::object document_of(const GpuUsage& gpu) {
  json::object out{{"index", gpu.index},
                   {"uuid", gpu.uuid},
                   {"product", gpu.product},
                   {"pciBusId", gpu.pci_bus_id},
                   {"memoryBytes", gpu.memory_bytes},
                   {"sickness", gpu.sickness},
                   {"lastXid", gpu.last_xid}};
  if (gpu.used_bytes) {
    out["usedBytes"] = *gpu.used_bytes;
  }
  if (gpu.percent) {
    out["percent"] = *gpu.percent;
  }
  if (!gpu.pod_uid.empty()) {
    out["pod"] = json::object{{"uid", gpu.pod_uid}, {"container", gpu.container}};
  }
  if (!gpu.instances.empty()) {
    json::array instances;
    for (const server::MigUsage& mig : gpu.instances) {
      instances.push_back(document_of(mig));
    }
    out["instances"] = std::move(instances);
  }
  if (!gpu.sharers.empty()) {
    json::array sharers;
    for (const server::GpuSharer& sharer : gpu.sharers) {
      sharers.push_back(json::object{
          {"uid", sharer.pod_uid}, {"container", sharer.container}, {"has", sharer.what}});
    }
    out["sharers"] = std::move(sharers);
  }
  if (!gpu.processes.empty()) {
    json::array processes;
    for (const server::GpuProcess& process : gpu.processes) {
      processes.push_back(document_of(process));
    }
    out["processes"] = std::move(processes);
  }
  for (const Reading& each : kReadings) {
    if (const auto& value = gpu.more.*each.value) {
      out[each.name] = *value;
    }
  }
  return out;
}

std::optional<std::int64_t> number_at(const json::value& in, std::string_view name) {
  const json::value* found = api::find(in, name);
  boost::system::error_code no_number;
  const auto number = found == nullptr ? 0 : found->to_number<std::int64_t>(no_number);
  return found == nullptr || no_number ? std::nullopt : std::optional(number);
}

std::optional<int> small_at(const json::value& in, std::string_view name) {
  constexpr std::int64_t kMost = 1 << 30;
  const auto number = number_at(in, name);
  return number && *number >= 0 && *number <= kMost ? std::optional(static_cast<int>(*number))
                                                    : std::nullopt;
}

std::string text_at(const json::value& in, std::string_view path) {
  return std::string(api::string_at(in, path));
}

GpuUsage gpu_of(const json::value& in) {
  GpuUsage gpu{.index = small_at(in, "index").value_or(0),
               .uuid = text_at(in, "uuid"),
               .product = text_at(in, "product"),
               .pci_bus_id = text_at(in, "pciBusId"),
               .memory_bytes = number_at(in, "memoryBytes").value_or(0),
               .used_bytes = number_at(in, "usedBytes"),
               .percent = small_at(in, "percent"),
               .sickness = text_at(in, "sickness"),
               .last_xid = small_at(in, "lastXid").value_or(0),
               .pod_uid = text_at(in, "pod.uid"),
               .container = text_at(in, "pod.container"),
               .more = {},
               .instances = {}};
  const json::value* instances = api::find(in, "instances");
  if (instances != nullptr && instances->is_array()) {
    for (const json::value& mig : instances->get_array()) {
      gpu.instances.push_back({.uuid = text_at(mig, "uuid"),
                               .profile = text_at(mig, "profile"),
                               .gpu_instance = small_at(mig, "gpuInstance").value_or(0),
                               .percent = small_at(mig, "percent"),
                               .used_bytes = number_at(mig, "usedBytes"),
                               .free_bytes = number_at(mig, "freeBytes"),
                               .pod_uid = text_at(mig, "pod.uid"),
                               .container = text_at(mig, "pod.container")});
    }
  }
  const json::value* sharers = api::find(in, "sharers");
  if (sharers != nullptr && sharers->is_array()) {
    for (const json::value& sharer : sharers->get_array()) {
      gpu.sharers.push_back({.pod_uid = text_at(sharer, "uid"),
                             .container = text_at(sharer, "container"),
                             .what = text_at(sharer, "has")});
    }
  }
  const json::value* processes = api::find(in, "processes");
  if (processes != nullptr && processes->is_array()) {
    for (const json::value& process : processes->get_array()) {
      gpu.processes.push_back({.pid = number_at(process, "pid").value_or(0),
                               .name = text_at(process, "name"),
                               .used_bytes = number_at(process, "usedBytes"),
                               .gpu_instance = small_at(process, "gpuInstance"),
                               .pod_uid = text_at(process, "pod.uid"),
                               .container = text_at(process, "pod.container")});
    }
  }
  for (const Reading& each : kReadings) {
    gpu.more.*each.value = number_at(in, each.name);
  }
  return gpu;
}

} // namespace

json::object gpu_stats(const std::vector<GpuUsage>& gpus) {
  json::array items;
  for (const GpuUsage& gpu : gpus) {
    items.push_back(document_of(gpu));
  }
  return {{"gpus", std::move(items)}};
}

std::vector<GpuUsage> read_gpu_stats(const json::value& document) {
  std::vector<GpuUsage> gpus;
  const json::value* items = api::find(document, "gpus");
  if (items != nullptr && items->is_array()) {
    for (const json::value& item : items->get_array()) {
      gpus.push_back(gpu_of(item));
    }
  }
  return gpus;
}

} // namespace berth::kubelet
