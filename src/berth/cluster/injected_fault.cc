#include "berth/cluster/injected_fault.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "berth/base/assert.h"

namespace berth::cluster {
namespace {

namespace json = api::json;
using Type = InjectedFault::Type;

constexpr std::array<std::pair<std::string_view, Type>, 6> kTypes = {{
    {"GpuXid", Type::GpuXid},
    {"GpuLost", Type::GpuLost},
    {"NodeDown", Type::NodeDown},
    {"NodeReboot", Type::NodeReboot},
    {"AgentCrash", Type::AgentCrash},
    {"PluginCrash", Type::PluginCrash},
}};

constexpr int kMostXid = 999;

constexpr std::string_view kDefinition = R"({
  "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
  "metadata": {"name": "faults.simulation.berth.dev"},
  "spec": {"group": "simulation.berth.dev", "scope": "Cluster", "conversion": {"strategy": "None"},
  "names": {"plural": "faults", "singular": "fault", "kind": "Fault", "listKind": "FaultList"},
  "versions": [{"name": "v1alpha1", "served": true, "storage": true, "subresources": {"status": {}},
  "additionalPrinterColumns": [
    {"name": "Type", "type": "string", "jsonPath": ".spec.type"},
    {"name": "Node", "type": "string", "jsonPath": ".spec.node"},
    {"name": "GPU", "type": "integer", "jsonPath": ".spec.gpu"},
    {"name": "Phase", "type": "string", "jsonPath": ".status.phase"},
    {"name": "Message", "type": "string", "jsonPath": ".status.message"},
    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}],
  "schema": {"openAPIV3Schema": {"type": "object", "required": ["spec"],
    "description": "Fault breaks a simulated node, or one of its GPUs, for as long as it exists.",
    "properties": {
    "spec": {"type": "object", "required": ["node", "type"], "properties": {
      "node": {"type": "string", "minLength": 1, "description": "Name of the node."},
      "type": {"type": "string", "description": "What breaks. NodeReboot, AgentCrash and PluginCrash pass by themselves, and the fault is then gone.",
        "enum": ["GpuXid", "GpuLost", "NodeDown", "NodeReboot", "AgentCrash", "PluginCrash"]},
      "gpu": {"type": "integer", "minimum": 0, "maximum": 31, "description": "Index of the GPU, of GpuXid and GpuLost."},
      "xid": {"type": "integer", "minimum": 1, "maximum": 999, "description": "The driver's error number, of GpuXid; 79 if it is not given."}}},
    "status": {"type": "object", "properties": {
      "phase": {"type": "string", "description": "Active, or Refused if nothing here can break so."},
      "message": {"type": "string"}}}}}}}]}})";

/// `otherwise` if it is not there; nullopt if it is no such number.
std::optional<int> number_at(const json::value& object, std::string_view path, int otherwise) {
  const json::value* found = api::find_path(object, path);
  if (found == nullptr) {
    return otherwise;
  }
  return found->is_int64() && found->get_int64() >= 0 && found->get_int64() <= kMostXid
             ? std::optional(static_cast<int>(found->get_int64()))
             : std::nullopt;
}

} // namespace

std::string_view to_string(Type type) {
  const auto* const found =
      std::ranges::find(kTypes, type, &std::pair<std::string_view, Type>::second);
  return found->first;
}

Result<InjectedFault> read_injected_fault(const json::value& object) {
  InjectedFault fault;
  fault.node = api::string_at(object, "spec.node");
  if (fault.node.empty()) {
    return fail_at({.file = {}, .field = "spec.node"}, "the name of a node is missing");
  }
  const std::string_view type = api::string_at(object, "spec.type");
  const auto* const found =
      std::ranges::find(kTypes, type, &std::pair<std::string_view, Type>::first);
  if (found == kTypes.end()) {
    return fail_at({.file = {}, .field = "spec.type"},
                   fmt::format("there is no such fault: {}", type));
  }
  fault.type = found->second;
  const auto gpu = number_at(object, "spec.gpu", fault.of_gpu() ? -1 : 0);
  if (!gpu || *gpu < 0) {
    return fail_at({.file = {}, .field = "spec.gpu"}, "the index of a GPU is missing");
  }
  const auto xid = number_at(object, "spec.xid", fault.xid);
  if (!xid || *xid == 0) {
    return fail_at({.file = {}, .field = "spec.xid"}, "want a number from 1 to 999");
  }
  fault.gpu = *gpu;
  fault.xid = *xid;
  return fault;
}

json::value fault_definition() {
  auto document = api::parse_json(kDefinition);
  BERTH_ASSERT(document.has_value(), std::string(kDefinition));
  return *std::move(document);
}

} // namespace berth::cluster
