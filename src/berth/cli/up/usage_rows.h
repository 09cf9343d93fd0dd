// What berth top shows, put together from the API's answers: metrics, nodes, pods, GPUs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "berth/api/json.h"

namespace berth::cli {

struct NodeRow {
  std::string name;
  bool measured = false; ///< its agent answers; the numbers below mean nothing otherwise
  std::int64_t cpu_milli = 0;
  std::int64_t cpu_allocatable_milli = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t memory_allocatable_bytes = 0;
  int gpus = 0;
  int gpus_taken = 0;
  int gpus_sick = 0;
  int gpu_percent = 0; ///< mean over all of its GPUs
  std::int64_t gpu_used_bytes = 0;
  std::int64_t gpu_memory_bytes = 0;
};

struct ContainerRow {
  std::string name;
  std::int64_t cpu_milli = 0;
  std::int64_t memory_bytes = 0;
};

struct PodRow {
  std::string ns;
  std::string name;
  std::string node;
  std::int64_t cpu_milli = 0;
  std::int64_t memory_bytes = 0;
  std::vector<int> gpus; ///< indices, rising
  int gpu_percent = 0;   ///< mean over its GPUs
  std::vector<ContainerRow> containers;
};

/// Who has a part, a replica or a MIG device of a GPU.
struct GpuSharerRow {
  std::string ns;
  std::string pod;
  std::string has; ///< "500m", "2 replicas", "1g.10gb"
};

/// A MIG device of a GPU.
struct GpuInstanceRow {
  int gpu_instance = 0;
  std::string profile;
  std::string uuid;
  std::optional<int> percent;
  std::optional<std::int64_t> used_bytes;
  std::optional<std::int64_t> memory_bytes;
  std::string ns;
  std::string pod;
  std::string container;
};

/// A process that computes on a GPU.
struct GpuProcessRow {
  std::int64_t pid = 0; ///< on the node
  std::string name;
  std::optional<std::int64_t> used_bytes;
  std::string ns;
  std::string pod; ///< "": it is in no container of a pod
  std::string container;
};

struct GpuRow {
  std::string node;
  int index = 0;
  std::string product;
  std::string uuid;
  std::optional<int> percent;
  std::optional<std::int64_t> used_bytes;
  std::int64_t memory_bytes = 0;
  std::string sickness; ///< "" if it is well
  std::string ns;
  std::string pod; ///< "" for nobody; of several that share it the first
  std::string container;
  std::vector<GpuSharerRow> sharers = {};     ///< where it is not given whole
  std::vector<GpuInstanceRow> instances = {}; ///< while it is cut
  std::vector<GpuProcessRow> processes = {};  ///< as far as the driver tells
};

/// The lists are those of the API: v1 NodeList, metrics.k8s.io NodeMetricsList and PodMetricsList,
/// metrics.berth.dev GPUList. Rows are in their order. O(n log n).
std::vector<GpuRow> gpu_rows(const api::json::value& gpus);
std::vector<NodeRow> node_rows(const api::json::value& nodes, const api::json::value& metrics,
                               const std::vector<GpuRow>& gpus);
std::vector<PodRow> pod_rows(const api::json::value& metrics, const std::vector<GpuRow>& gpus);

/// {"items": [...]} with numbers in the units that their names say.
api::json::object to_document(const std::vector<NodeRow>& rows);
api::json::object to_document(const std::vector<PodRow>& rows);
api::json::object to_document(const std::vector<GpuRow>& rows);

} // namespace berth::cli
