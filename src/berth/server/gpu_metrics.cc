#include "berth/server/gpu_metrics.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace berth::server {
namespace {

/// What a metric is read from: a GPU, or one of its instances.
struct Device {
  const GpuSamples* machine;
  const GpuSample* gpu;
  const MigSample* instance; ///< null: the GPU as a whole
};

using Value = std::optional<std::string>;

struct Metric {
  std::string_view name;
  std::string_view type;
  std::string_view help;
  std::function<Value(const Device&)> value;
};

template <class T> Value text_of(const std::optional<T>& number) {
  return number ? Value(fmt::to_string(*number)) : std::nullopt;
}

Value ratio(const std::optional<double>& number) {
  return number ? Value(fmt::format("{:.6f}", *number)) : std::nullopt;
}

/// Of what has no meaning for an instance alone.
template <class T> std::function<Value(const Device&)> of_gpu(std::optional<T> GpuSample::*what) {
  return [what](const Device& device) {
    return device.instance == nullptr ? text_of(device.gpu->*what) : std::nullopt;
  };
}

/// Of what instances share: it is told for each of them, as the exporter does.
template <class T> std::function<Value(const Device&)> of_card(std::optional<T> GpuSample::*what) {
  return [what](const Device& device) { return text_of(device.gpu->*what); };
}

/// The same of what the driver tells of the card.
std::function<Value(const Device&)> reading(model::GpuReadings::Number model::GpuReadings::*what) {
  return [what](const Device& device) { return text_of(device.gpu->more.*what); };
}

/// Of what the driver tells of the card in thousandths; instances have no share of it.
std::function<Value(const Device&)> part(model::GpuReadings::Number model::GpuReadings::*what) {
  return [what](const Device& device) {
    constexpr double kAll = 1000;
    const model::GpuReadings::Number permille = device.gpu->more.*what;
    return device.instance == nullptr && permille ? ratio(static_cast<double>(*permille) / kAll)
                                                  : std::nullopt;
  };
}

Value reserved_memory(const Device& device) {
  constexpr std::int64_t kMiB = std::int64_t{1} << 20;
  const model::GpuReadings::Number bytes = device.gpu->more.memory_reserved_bytes;
  return device.instance == nullptr && bytes ? Value(fmt::to_string(*bytes / kMiB)) : std::nullopt;
}

/// Watts of milliwatts.
Value watts(const Device& device) {
  const model::GpuReadings::Number milliwatts = device.gpu->more.milliwatts;
  return milliwatts ? Value(fmt::to_string(static_cast<double>(*milliwatts) / 1000)) : std::nullopt;
}

Value free_memory(const Device& device) {
  return text_of(device.instance ? device.instance->free_mib : device.gpu->free_mib);
}

Value used_memory(const Device& device) {
  return text_of(device.instance ? device.instance->used_mib : device.gpu->used_mib);
}

Value engine_active(const Device& device) {
  return ratio(device.instance ? device.instance->engine_active : device.gpu->engine_active);
}

const std::vector<Metric>& metrics() {
  using R = model::GpuReadings;
  static const std::vector<Metric> all = {
      {"DCGM_FI_DEV_SM_CLOCK", "gauge", "SM clock frequency (in MHz).", reading(&R::sm_clock_mhz)},
      {"DCGM_FI_DEV_MEM_CLOCK", "gauge", "Memory clock frequency (in MHz).",
       reading(&R::memory_clock_mhz)},
      {"DCGM_FI_DEV_MEMORY_TEMP", "gauge", "Memory temperature (in C).",
       reading(&R::memory_celsius)},
      {"DCGM_FI_DEV_GPU_TEMP", "gauge", "GPU temperature (in C).", reading(&R::celsius)},
      {"DCGM_FI_DEV_POWER_USAGE", "gauge", "Power draw (in W).", watts},
      {"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "counter",
       "Total energy consumption since boot (in mJ).", reading(&R::energy_mj)},
      {"DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "counter", "Total number of PCIe retries.",
       reading(&R::pcie_replays)},
      {"DCGM_FI_DEV_GPU_UTIL", "gauge", "GPU utilization (in %).", of_gpu(&GpuSample::percent)},
      {"DCGM_FI_DEV_MEM_COPY_UTIL", "gauge", "Memory utilization (in %).",
       reading(&R::memory_copy_percent)},
      {"DCGM_FI_DEV_ENC_UTIL", "gauge", "Encoder utilization (in %).",
       reading(&R::encoder_percent)},
      {"DCGM_FI_DEV_DEC_UTIL", "gauge", "Decoder utilization (in %).",
       reading(&R::decoder_percent)},
      {"DCGM_FI_DEV_XID_ERRORS", "gauge", "Value of the last XID error encountered.",
       of_card(&GpuSample::last_xid)},
      {"DCGM_FI_DEV_FB_FREE", "gauge", "Framebuffer memory free (in MiB).", free_memory},
      {"DCGM_FI_DEV_FB_USED", "gauge", "Framebuffer memory used (in MiB).", used_memory},
      {"DCGM_FI_DEV_FB_RESERVED", "gauge", "Framebuffer memory reserved (in MiB).",
       reserved_memory},
      {"DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", "counter",
       "Total number of single-bit volatile ECC errors.", reading(&R::ecc_single_volatile)},
      {"DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "counter",
       "Total number of double-bit volatile ECC errors.", reading(&R::ecc_double_volatile)},
      {"DCGM_FI_DEV_ECC_SBE_AGG_TOTAL", "counter",
       "Total number of single-bit persistent ECC errors.", reading(&R::ecc_single_aggregate)},
      {"DCGM_FI_DEV_ECC_DBE_AGG_TOTAL", "counter",
       "Total number of double-bit persistent ECC errors.", reading(&R::ecc_double_aggregate)},
      {"DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", "counter",
       "Total number of NVLink flow-control CRC errors.", reading(&R::nvlink_flit_errors)},
      {"DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL", "counter",
       "Total number of NVLink data CRC errors.", reading(&R::nvlink_data_errors)},
      {"DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL", "counter", "Total number of NVLink retries.",
       reading(&R::nvlink_replays)},
      {"DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL", "counter",
       "Total number of NVLink recovery errors.", reading(&R::nvlink_recoveries)},
      {"DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", "counter",
       "Total number of NVLink bandwidth counters for all lanes.", reading(&R::nvlink_kib)},
      {"DCGM_FI_DEV_VGPU_LICENSE_STATUS", "gauge", "vGPU License status",
       reading(&R::vgpu_license)},
      {"DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", "counter",
       "Number of remapped rows for uncorrectable errors", reading(&R::uncorrected_rows)},
      {"DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS", "counter",
       "Number of remapped rows for correctable errors", reading(&R::corrected_rows)},
      {"DCGM_FI_DEV_ROW_REMAP_FAILURE", "gauge", "Whether remapping of rows has failed",
       reading(&R::row_failure)},
      {"DCGM_FI_PROF_GR_ENGINE_ACTIVE", "gauge", "Ratio of time the graphics engine is active.",
       engine_active},
      {"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "gauge",
       "Ratio of cycles the tensor (HMMA) pipe is active.", part(&R::tensor_permille)},
      {"DCGM_FI_PROF_DRAM_ACTIVE", "gauge",
       "Ratio of cycles the device memory interface is active sending or receiving data.",
       part(&R::dram_permille)},
      {"DCGM_FI_PROF_PCIE_TX_BYTES", "gauge",
       "The rate of data transmitted over the PCIe bus - including both protocol headers and data "
       "payloads - in bytes per second.",
       reading(&R::pcie_sent)},
      {"DCGM_FI_PROF_PCIE_RX_BYTES", "gauge",
       "The rate of data received over the PCIe bus - including both protocol headers and data "
       "payloads - in bytes per second.",
       reading(&R::pcie_received)},
  };
  return all;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    out += c == '\\'   ? std::string("\\\\")
           : c == '"'  ? std::string("\\\"")
           : c == '\n' ? std::string("\\n")
                       : std::string(1, c);
  }
  return out;
}

/// Who is named for each device, by the plugin's name without what tells who shares it.
using Holders = std::map<std::string, GpuHolder, std::less<>>;

Holders holders_of(const GpuSamples& machine) {
  Holders out;
  for (const GpuHolder& holder : machine.holders) {
    const auto place = std::tie(holder.ns, holder.pod, holder.container);
    const auto [at, fresh] =
        out.try_emplace(holder.device.substr(0, holder.device.find("::")), holder);
    if (!fresh && place < std::tie(at->second.ns, at->second.pod, at->second.container)) {
      at->second = holder;
    }
  }
  return out;
}

const GpuHolder* holder_of(const Holders& holders, const Device& device) {
  const std::string index = fmt::to_string(device.gpu->index);
  const std::array<std::string, 2> names =
      device.instance == nullptr
          ? std::array<std::string, 2>{device.gpu->uuid, index}
          : std::array<std::string, 2>{device.instance->uuid,
                                       fmt::format("{}-{}", index, device.instance->gpu_instance)};
  for (const std::string& name : names) {
    if (const auto found = holders.find(name); found != holders.end()) {
      return &found->second;
    }
  }
  return nullptr;
}

/// Of the GPU itself, without who has it.
std::string labels_of(const Device& device) {
  const GpuSample& gpu = *device.gpu;
  std::string out =
      fmt::format(R"(gpu="{0}",UUID="{1}",pci_bus_id="{2}",device="nvidia{0}",modelName="{3}")",
                  gpu.index, escaped(gpu.uuid), escaped(gpu.pci_bus_id), escaped(gpu.model));
  if (device.instance != nullptr) {
    out += fmt::format(R"(,GPU_I_PROFILE="{}",GPU_I_ID="{}")", escaped(device.instance->profile),
                       device.instance->gpu_instance);
  }
  out += fmt::format(R"(,Hostname="{}")", escaped(device.machine->hostname));
  if (!device.machine->driver.empty()) {
    out += fmt::format(R"(,DCGM_FI_DRIVER_VERSION="{}")", escaped(device.machine->driver));
  }
  return out;
}

std::string pod_labels(std::string_view container, std::string_view ns, std::string_view pod) {
  return fmt::format(R"(,container="{}",namespace="{}",pod="{}")", escaped(container), escaped(ns),
                     escaped(pod));
}

std::string labels_of(const Device& device, const Holders& holders) {
  const GpuHolder* holder = holder_of(holders, device);
  return labels_of(device) +
         (holder ? pod_labels(holder->container, holder->ns, holder->pod) : std::string());
}

std::string container_memory(const std::vector<GpuSamples>& machines) {
  constexpr std::string_view kName = "berth_gpu_container_memory_used_bytes";
  std::string lines;
  for (const GpuSamples& machine : machines) {
    for (const GpuSample& gpu : machine.gpus) {
      const std::string labels = labels_of({.machine = &machine, .gpu = &gpu, .instance = nullptr});
      for (const ContainerMemory& of : gpu.memory_of) {
        lines += fmt::format("{}{{{}{}}} {}\n", kName, labels,
                             pod_labels(of.container, of.ns, of.pod), of.bytes);
      }
    }
  }
  return lines.empty() ? lines
                       : fmt::format("# HELP {0} Memory of the GPU that processes of the container "
                                     "have (in bytes).\n# TYPE {0} gauge\n{1}",
                                     kName, lines);
}

struct Series {
  Device device;
  std::string labels;
};

std::vector<Series> series_of(const std::vector<GpuSamples>& machines) {
  std::vector<Series> out;
  for (const GpuSamples& machine : machines) {
    const Holders holders = holders_of(machine);
    const auto add = [&](const GpuSample& gpu, const MigSample* instance) {
      const Device device{.machine = &machine, .gpu = &gpu, .instance = instance};
      out.push_back({.device = device, .labels = labels_of(device, holders)});
    };
    for (const GpuSample& gpu : machine.gpus) {
      if (gpu.instances.empty()) {
        add(gpu, nullptr);
      }
      for (const MigSample& instance : gpu.instances) {
        add(gpu, &instance);
      }
    }
  }
  return out;
}

} // namespace

std::string gpu_metrics(const std::vector<GpuSamples>& machines) {
  const std::vector<Series> series = series_of(machines);
  std::string out;
  for (const Metric& metric : metrics()) {
    std::string lines;
    for (const Series& one : series) {
      if (const Value value = metric.value(one.device)) {
        lines += fmt::format("{}{{{}}} {}\n", metric.name, one.labels, *value);
      }
    }
    if (!lines.empty()) {
      out += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", metric.name, metric.help, metric.type);
      out += lines;
    }
  }
  return out + container_memory(machines);
}

} // namespace berth::server
