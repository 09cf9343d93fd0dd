#include "berth/cli/up/usage_rows.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "berth/api/quantity.h"
#include "berth/cli/up/admin_api.h"

namespace berth::cli {
namespace {

namespace json = api::json;

std::optional<api::Quantity> quantity_at(const json::value& in, std::string_view path) {
  const auto quantity = api::Quantity::parse(api::string_at(in, path));
  return quantity ? std::optional(*quantity) : std::nullopt;
}

std::int64_t milli_at(const json::value& in, std::string_view path) {
  const auto quantity = quantity_at(in, path);
  return quantity ? quantity->milli_value() : 0;
}

std::int64_t value_at(const json::value& in, std::string_view path) {
  const auto quantity = quantity_at(in, path);
  return quantity ? quantity->value() : 0;
}

std::optional<int> number_at(const json::value& in, std::string_view path) {
  const json::value* found = api::find_path(in, path);
  return found != nullptr && found->is_int64() ? std::optional(static_cast<int>(found->get_int64()))
                                               : std::nullopt;
}

std::optional<std::int64_t> bytes_at(const json::value& in, std::string_view path) {
  const auto quantity = quantity_at(in, path);
  return quantity ? std::optional(quantity->value()) : std::nullopt;
}

json::array list_at(const json::value& in, std::string_view name) {
  const json::value* found = api::find(in, name);
  return found != nullptr && found->is_array() ? found->get_array() : json::array();
}

std::string text_at(const json::value& in, std::string_view path) {
  return std::string(api::string_at(in, path));
}

template <class Row>
json::object document_of(const std::vector<Row>& rows, json::object (*one)(const Row&)) {
  json::array items;
  for (const Row& row : rows) {
    items.push_back(one(row));
  }
  return {{"items", std::move(items)}};
}

json::object node_document(const NodeRow& row) {
  json::object out{{"name", row.name}, {"measured", row.measured}};
  if (row.measured) {
    out["cpuMilli"] = row.cpu_milli;
    out["cpuAllocatableMilli"] = row.cpu_allocatable_milli;
    out["memoryBytes"] = row.memory_bytes;
    out["memoryAllocatableBytes"] = row.memory_allocatable_bytes;
    out["gpus"] = json::object{{"count", row.gpus},
                               {"taken", row.gpus_taken},
                               {"unhealthy", row.gpus_sick},
                               {"utilizationPercent", row.gpu_percent},
                               {"memoryUsedBytes", row.gpu_used_bytes},
                               {"memoryBytes", row.gpu_memory_bytes}};
  }
  return out;
}

json::object pod_document(const PodRow& row) {
  json::array containers;
  for (const ContainerRow& container : row.containers) {
    containers.push_back(json::object{{"name", container.name},
                                      {"cpuMilli", container.cpu_milli},
                                      {"memoryBytes", container.memory_bytes}});
  }
  return {{"namespace", row.ns},
          {"name", row.name},
          {"node", row.node},
          {"cpuMilli", row.cpu_milli},
          {"memoryBytes", row.memory_bytes},
          {"gpus", json::array(row.gpus.begin(), row.gpus.end())},
          {"gpuUtilizationPercent", row.gpu_percent},
          {"containers", std::move(containers)}};
}

json::object instance_document(const GpuInstanceRow& row) {
  json::object out{{"gpuInstance", row.gpu_instance}, {"profile", row.profile}, {"uuid", row.uuid}};
  if (row.percent) {
    out["utilizationPercent"] = *row.percent;
  }
  if (row.used_bytes) {
    out["memoryUsedBytes"] = *row.used_bytes;
  }
  if (row.memory_bytes) {
    out["memoryBytes"] = *row.memory_bytes;
  }
  if (!row.pod.empty()) {
    out["pod"] =
        json::object{{"namespace", row.ns}, {"name", row.pod}, {"container", row.container}};
  }
  return out;
}

json::object gpu_document(const GpuRow& row) {
  json::object out{{"node", row.node},
                   {"index", row.index},
                   {"product", row.product},
                   {"uuid", row.uuid},
                   {"memoryBytes", row.memory_bytes},
                   {"healthy", row.sickness.empty()}};
  if (row.percent) {
    out["utilizationPercent"] = *row.percent;
  }
  if (row.used_bytes) {
    out["memoryUsedBytes"] = *row.used_bytes;
  }
  if (!row.sickness.empty()) {
    out["reason"] = row.sickness;
  }
  if (!row.pod.empty()) {
    out["pod"] =
        json::object{{"namespace", row.ns}, {"name", row.pod}, {"container", row.container}};
  }
  json::array sharers;
  for (const GpuSharerRow& sharer : row.sharers) {
    sharers.push_back(
        json::object{{"namespace", sharer.ns}, {"name", sharer.pod}, {"has", sharer.has}});
  }
  if (!sharers.empty()) {
    out["sharedBy"] = std::move(sharers);
  }
  json::array instances;
  for (const GpuInstanceRow& instance : row.instances) {
    instances.push_back(instance_document(instance));
  }
  if (!instances.empty()) {
    out["instances"] = std::move(instances);
  }
  json::array processes;
  for (const GpuProcessRow& process : row.processes) {
    json::object& one =
        processes.emplace_back(json::object{{"pid", process.pid}, {"name", process.name}})
            .as_object();
    if (process.used_bytes) {
      one["memoryUsedBytes"] = *process.used_bytes;
    }
    if (!process.pod.empty()) {
      one["pod"] = json::object{
          {"namespace", process.ns}, {"name", process.pod}, {"container", process.container}};
    }
  }
  if (!processes.empty()) {
    out["processes"] = std::move(processes);
  }
  return out;
}

} // namespace

std::vector<GpuRow> gpu_rows(const json::value& gpus) {
  std::vector<GpuRow> rows;
  for (const json::value& gpu : items_of(gpus)) {
    rows.push_back({.node = text_at(gpu, "node"),
                    .index = number_at(gpu, "index").value_or(0),
                    .product = text_at(gpu, "product"),
                    .uuid = text_at(gpu, "uuid"),
                    .percent = number_at(gpu, "utilization"),
                    .used_bytes = bytes_at(gpu, "memory.used"),
                    .memory_bytes = value_at(gpu, "memory.capacity"),
                    .sickness = text_at(gpu, "reason"),
                    .ns = text_at(gpu, "pod.namespace"),
                    .pod = text_at(gpu, "pod.name"),
                    .container = text_at(gpu, "pod.container")});
    for (const json::value& sharer : list_at(gpu, "sharedBy")) {
      rows.back().sharers.push_back({.ns = text_at(sharer, "namespace"),
                                     .pod = text_at(sharer, "name"),
                                     .has = text_at(sharer, "has")});
    }
    for (const json::value& instance : list_at(gpu, "instances")) {
      rows.back().instances.push_back(
          {.gpu_instance = number_at(instance, "gpuInstance").value_or(0),
           .profile = text_at(instance, "profile"),
           .uuid = text_at(instance, "uuid"),
           .percent = number_at(instance, "utilization"),
           .used_bytes = bytes_at(instance, "memory.used"),
           .memory_bytes = bytes_at(instance, "memory.capacity"),
           .ns = text_at(instance, "pod.namespace"),
           .pod = text_at(instance, "pod.name"),
           .container = text_at(instance, "pod.container")});
    }
    for (const json::value& process : list_at(gpu, "processes")) {
      rows.back().processes.push_back({.pid = number_at(process, "pid").value_or(0),
                                       .name = text_at(process, "name"),
                                       .used_bytes = bytes_at(process, "memory"),
                                       .ns = text_at(process, "pod.namespace"),
                                       .pod = text_at(process, "pod.name"),
                                       .container = text_at(process, "pod.container")});
    }
  }
  return rows;
}

std::vector<NodeRow> node_rows(const json::value& nodes, const json::value& metrics,
                               const std::vector<GpuRow>& gpus) {
  std::vector<NodeRow> rows;
  std::map<std::string, std::size_t> at;
  for (const json::value& node : items_of(nodes)) {
    at.emplace(text_at(node, "metadata.name"), rows.size());
    rows.push_back({.name = text_at(node, "metadata.name"),
                    .cpu_allocatable_milli = milli_at(node, "status.allocatable.cpu"),
                    .memory_allocatable_bytes = value_at(node, "status.allocatable.memory")});
  }
  for (const json::value& usage : items_of(metrics)) {
    if (const auto found = at.find(text_at(usage, "metadata.name")); found != at.end()) {
      NodeRow& row = rows[found->second];
      row.measured = true;
      row.cpu_milli = milli_at(usage, "usage.cpu");
      row.memory_bytes = value_at(usage, "usage.memory");
    }
  }
  for (const GpuRow& gpu : gpus) {
    if (const auto found = at.find(gpu.node); found != at.end()) {
      NodeRow& row = rows[found->second];
      ++row.gpus;
      row.gpus_taken += gpu.pod.empty() ? 0 : 1;
      row.gpus_sick += gpu.sickness.empty() ? 0 : 1;
      row.gpu_percent += gpu.percent.value_or(0); // a sum, until all are in
      row.gpu_used_bytes += gpu.used_bytes.value_or(0);
      row.gpu_memory_bytes += gpu.memory_bytes;
    }
  }
  for (NodeRow& row : rows) {
    row.gpu_percent /= std::max(row.gpus, 1);
  }
  return rows;
}

std::vector<PodRow> pod_rows(const json::value& metrics, const std::vector<GpuRow>& gpus) {
  std::vector<PodRow> rows;
  for (const json::value& usage : items_of(metrics)) {
    PodRow row{.ns = text_at(usage, "metadata.namespace"),
               .name = text_at(usage, "metadata.name"),
               .node = {},
               .gpus = {},
               .containers = {}};
    for (const json::value& container : list_at(usage, "containers")) {
      row.containers.push_back({.name = text_at(container, "name"),
                                .cpu_milli = milli_at(container, "usage.cpu"),
                                .memory_bytes = value_at(container, "usage.memory")});
      row.cpu_milli += row.containers.back().cpu_milli;
      row.memory_bytes += row.containers.back().memory_bytes;
    }
    rows.push_back(std::move(row));
  }
  std::map<std::pair<std::string, std::string>, std::size_t> at;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    at.emplace(std::pair(rows[i].ns, rows[i].name), i);
  }
  for (const GpuRow& gpu : gpus) {
    std::set<std::pair<std::string, std::string>> pods{{gpu.ns, gpu.pod}};
    for (const GpuSharerRow& sharer : gpu.sharers) {
      pods.emplace(sharer.ns, sharer.pod);
    }
    for (const auto& pod : pods) {
      if (const auto found = at.find(pod); found != at.end()) {
        PodRow& row = rows[found->second];
        row.node = gpu.node;
        row.gpus.push_back(gpu.index);
        row.gpu_percent += gpu.percent.value_or(0); // a sum, until all are in
      }
    }
  }
  for (PodRow& row : rows) {
    std::ranges::sort(row.gpus);
    row.gpu_percent /= static_cast<int>(std::max<std::size_t>(row.gpus.size(), 1));
  }
  return rows;
}

json::object to_document(const std::vector<NodeRow>& rows) {
  return document_of(rows, &node_document);
}

json::object to_document(const std::vector<PodRow>& rows) {
  return document_of(rows, &pod_document);
}

json::object to_document(const std::vector<GpuRow>& rows) {
  return document_of(rows, &gpu_document);
}

} // namespace berth::cli
