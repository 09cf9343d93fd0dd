// What GPUs do, in the names, types and words of NVIDIA's DCGM exporter, so that dashboards and
// autoscalers made for it read it. Source: dcgm-exporter etc/default-counters.csv, internal/pkg
// (transformation of pods, MIG devices and shared ones).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "berth/model/gpu_readings.h"

namespace berth::server {

/// A MIG device: its GPU instance and what it does.
struct MigSample {
  std::string uuid;    ///< "MIG-..."
  std::string profile; ///< "1g.10gb"
  int gpu_instance = 0;
  std::optional<double> engine_active; ///< 0 to 1
  std::optional<std::int64_t> used_mib;
  std::optional<std::int64_t> free_mib;
};

/// What processes of one container have of a GPU's memory; of none, of processes in no container of
/// the machine's pods.
struct ContainerMemory {
  std::string ns;
  std::string pod;
  std::string container;
  std::int64_t bytes = 0;
};

/// A GPU and what it does; what is not known is left out of the metrics.
struct GpuSample {
  int index = 0;
  std::string uuid;
  std::string pci_bus_id;
  std::string model;
  std::optional<int> percent; ///< of the time; never told while the GPU is cut into instances
  std::optional<double> engine_active; ///< 0 to 1
  std::optional<std::int64_t> used_mib;
  std::optional<std::int64_t> free_mib;
  std::optional<int> last_xid; ///< 0: none
  model::GpuReadings more;
  std::vector<MigSample> instances; ///< while it is cut; then it has no series of its own
  std::vector<ContainerMemory> memory_of = {}; ///< each container once
};

/// Who has a device now.
struct GpuHolder {
  /// As device plugins name it: a UUID, a GPU's index, a MIG device's UUID or
  /// "<GPU's index>-<GPU instance>", with "::n" behind it if it is shared.
  std::string device;
  std::string ns;
  std::string pod;
  std::string container;
};

/// One machine's.
struct GpuSamples {
  std::string hostname;
  std::string driver; ///< "": not known
  std::vector<GpuSample> gpus;
  /// Those that run: who has ended has no series any more. Of several that share a device the first
  /// by namespace, pod and container is named.
  std::vector<GpuHolder> holders;
};

/// In Prometheus' text format: metrics in the exporter's order, machines and GPUs in the given one,
/// then one that the exporter does not have, berth_gpu_container_memory_used_bytes; "" if there is
/// nothing to tell. O(metrics x devices x log holders).
std::string gpu_metrics(const std::vector<GpuSamples>& machines);

} // namespace berth::server
