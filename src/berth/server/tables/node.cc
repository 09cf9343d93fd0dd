// Nodes. Source: printers.go printNode.
#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/server/tables/cells.h"
#include "berth/server/tables/shapes.h"

namespace berth::server::tables {
namespace {

constexpr std::string_view kRolePrefix = "node-role.kubernetes.io/";
constexpr std::string_view kRoleLabel = "kubernetes.io/role";

json::value status(const Row& row) {
  // The last condition of a type counts.
  std::string out = "Unknown";
  for (const json::value& condition : list_at(row.document(), "status.conditions")) {
    if (api::string_at(condition, "type") == "Ready") {
      out = api::string_at(condition, "status") == "True" ? "Ready" : "NotReady";
    }
  }
  if (truth_at(row.document(), "spec.unschedulable")) {
    out += ",SchedulingDisabled";
  }
  return json::value(out);
}

json::value roles(const Row& row) {
  std::set<std::string_view> out;
  for (const auto& [key, value] : row.object.meta().labels) {
    if (key.starts_with(kRolePrefix)) {
      out.insert(std::string_view(key).substr(kRolePrefix.size()));
    } else if (key == kRoleLabel) {
      out.insert(value);
    }
  }
  out.erase("");
  return json::value(out.empty() ? "<none>" : fmt::format("{}", fmt::join(out, ",")));
}

Cell address(std::string_view type) {
  return [=](const Row& row) {
    const auto all = list_at(row.document(), "status.addresses");
    const auto it = std::ranges::find_if(
        all, [&](const json::value& one) { return api::string_at(one, "type") == type; });
    return json::value(it == all.end() ? "<none>" : text_at(*it, "address"));
  };
}

} // namespace

TableShape node_shape() {
  return {.columns = {name_column(),
                      {.name = "Status",
                       .description = "Whether the node is ready and takes pods.",
                       .cell = &status},
                      {.name = "Roles",
                       .description = "Roles, from labels node-role.kubernetes.io/ROLE.",
                       .cell = &roles},
                      age_column(),
                      {.name = "Version",
                       .description = "Version of the node's kubelet.",
                       .cell = text("status.nodeInfo.kubeletVersion")},
                      {.name = "Internal-IP",
                       .description = "The node's first internal address.",
                       .priority = 1,
                       .cell = address("InternalIP")},
                      {.name = "External-IP",
                       .description = "The node's first external address.",
                       .priority = 1,
                       .cell = address("ExternalIP")},
                      {.name = "OS-Image",
                       .description = "Operating system.",
                       .priority = 1,
                       .cell = text("status.nodeInfo.osImage", "<unknown>")},
                      {.name = "Kernel-Version",
                       .description = "Version of the kernel.",
                       .priority = 1,
                       .cell = text("status.nodeInfo.kernelVersion", "<unknown>")},
                      {.name = "Container-Runtime",
                       .description = "Name and version of the container runtime.",
                       .priority = 1,
                       .cell = text("status.nodeInfo.containerRuntimeVersion", "<unknown>")}}};
}

} // namespace berth::server::tables
