// What Berth adds to nodes and pods: how many GPUs, of which model, and which of them a pod has.
// A MIG slice or a part of a GPU is no GPU, so that they are named rather than added up:
// "2", "7x1g.10gb", "2,7x1g.10gb", "500m", "2x500m".
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/model/gpu_share.h"
#include "berth/model/node.h"
#include "berth/model/requests.h"
#include "berth/server/tables/cells.h"
#include "berth/server/tables/shapes.h"

namespace berth::server::tables {
namespace {

constexpr std::string_view kMigPrefix = "nvidia.com/mig-";
constexpr std::string_view kProductLabel = "nvidia.com/gpu.product";

/// Whole GPUs, then MIG slices by profile.
std::vector<std::string> gpu_texts(const model::ResourceList& resources) {
  std::vector<std::string> out;
  for (const auto& [name, quantity] : resources) {
    if (quantity.sign() <= 0) {
      continue;
    }
    if (name == model::kGpuResource) {
      out.insert(out.begin(), fmt::to_string(quantity.value()));
    } else if (name.starts_with(kMigPrefix)) {
      out.push_back(
          fmt::format("{}x{}", quantity.value(), std::string_view(name).substr(kMigPrefix.size())));
    }
  }
  return out;
}

json::value joined(const std::vector<std::string>& texts) {
  return json::value(texts.empty() ? "<none>" : fmt::format("{}", fmt::join(texts, ",")));
}

std::string share_text(const model::GpuShare& share) {
  std::string each = fmt::format("{}m", share.milli);
  if (share.milli == 0 && share.memory > 0) {
    each = api::Quantity::from_int(share.memory, api::Quantity::Format::BinarySI).to_string();
  } else if (share.milli == 0) {
    each = fmt::format("{} units", share.memory_units);
  }
  return share.gpus == 1 ? each : fmt::format("{}x{}", share.gpus, each);
}

json::value node_gpus(const Row& row) {
  const auto node = model::node_view(row.object);
  if (!node) {
    return "<unknown>";
  }
  std::vector<std::string> out = gpu_texts((*node)->allocatable);
  if (out.empty()) {
    if (const int shareable = model::shareable_gpus(**node).gpus; shareable > 0) {
      out.push_back(fmt::to_string(shareable));
    }
  }
  return joined(out);
}

json::value node_model(const Row& row) {
  const api::Labels& labels = row.object.meta().labels;
  for (const std::string_view label : {kProductLabel, model::kGpuCardModel}) {
    const auto it = labels.find(label);
    if (it != labels.end() && !it->second.empty()) {
      return json::value(it->second);
    }
  }
  return "<none>";
}

json::value pod_gpus(const Row& row) {
  const auto pod = model::pod_view(row.object);
  if (!pod) {
    return "<unknown>";
  }
  const model::ResourceList requests = model::effective_requests((*pod)->spec);
  std::vector<std::string> out = gpu_texts(requests);
  const auto share = model::gpu_share_of(**pod, requests);
  if (!share) {
    return "<invalid>";
  }
  if (share->gpus > 0) {
    out.push_back(share_text(*share));
  }
  return joined(out);
}

json::value pod_indices(const Row& row) {
  const api::Labels& annotations = row.object.meta().annotations;
  for (const std::string_view name : {model::kGpuIndicesAnnotation, model::kGpuIndex}) {
    const auto it = annotations.find(name);
    if (it != annotations.end() && !it->second.empty()) {
      return json::value(it->second);
    }
  }
  return "<none>";
}

} // namespace

std::vector<Column> gpu_columns(std::string_view kind) {
  if (kind == "Node") {
    return {{.name = "GPUs",
             .description = "GPUs and MIG slices that pods may have (allocatable).",
             .priority = 1,
             .cell = &node_gpus},
            {.name = "GPU-Model",
             .description = "Model of the node's GPUs, from its labels.",
             .priority = 1,
             .cell = &node_model}};
  }
  if (kind == "Pod") {
    return {{.name = "GPUs",
             .description = "GPUs, MIG slices and parts of GPUs that the pod asks for.",
             .priority = 1,
             .cell = &pod_gpus},
            {.name = "GPU-Indices",
             .description = "The node's GPUs that were chosen for the pod.",
             .priority = 1,
             .cell = &pod_indices}};
  }
  return {};
}

} // namespace berth::server::tables
