// Priorities, leases, runtimes and devices. Source: printers.go.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/server/tables/cells.h"
#include "berth/server/tables/shapes.h"

namespace berth::server::tables {
namespace {

TableShape priority_class_shape() {
  return {.columns = {name_column(),
                      {.name = "Value",
                       .type = "integer",
                       .description = "The priority.",
                       .cell = number("value")},
                      {.name = "Global-Default",
                       .type = "boolean",
                       .description = "Whether pods without a class have it.",
                       .cell = truth("globalDefault")},
                      age_column(),
                      {.name = "PreemptionPolicy",
                       .description = "Whether its pods may evict others.",
                       .cell = text("preemptionPolicy", "PreemptLowerPriority")}}};
}

TableShape lease_shape() {
  return {.columns = {name_column(),
                      {.name = "Holder",
                       .description = "Who holds the lease.",
                       .cell = text("spec.holderIdentity")},
                      age_column()}};
}

TableShape runtime_class_shape() {
  return {.columns = {name_column(),
                      {.name = "Handler",
                       .description = "The container runtime's name for it.",
                       .cell = text("handler")},
                      age_column()}};
}

TableShape name_and_age_shape() {
  return {.columns = {name_column(), age_column()}};
}

json::value claim_state(const Row& row) {
  const bool deleted = row.object.meta().deletion_timestamp.has_value();
  std::vector<std::string_view> out;
  if (deleted) {
    out.push_back("deleted");
  }
  if (api::find_path(row.document(), "status.allocation") != nullptr) {
    out.push_back("allocated");
    if (!list_at(row.document(), "status.reservedFor").empty()) {
      out.push_back("reserved");
    }
  } else if (!deleted) {
    out.push_back("pending");
  }
  return json::value(fmt::format("{}", fmt::join(out, ",")));
}

TableShape resource_claim_shape() {
  return {.columns = {name_column(),
                      {.name = "State",
                       .description = "pending, allocated, reserved, deleted.",
                       .cell = &claim_state},
                      age_column()}};
}

TableShape resource_slice_shape() {
  return {.columns = {name_column(),
                      {.name = "Node",
                       .description = "The node that has the devices.",
                       .cell = text("spec.nodeName")},
                      {.name = "Driver",
                       .description = "The driver of the devices.",
                       .cell = text("spec.driver")},
                      {.name = "Pool",
                       .description = "The pool that the slice is part of.",
                       .cell = text("spec.pool.name")},
                      age_column()}};
}

constexpr std::string_view kDevices = "resource.k8s.io";
constexpr KindShape kShapes[] = {
    {"scheduling.k8s.io", "PriorityClass", &priority_class_shape},
    {"coordination.k8s.io", "Lease", &lease_shape},
    {"node.k8s.io", "RuntimeClass", &runtime_class_shape},
    {kDevices, "DeviceClass", &name_and_age_shape},
    {kDevices, "ResourceClaim", &resource_claim_shape},
    {kDevices, "ResourceClaimTemplate", &name_and_age_shape},
    {kDevices, "ResourceSlice", &resource_slice_shape},
};

} // namespace

std::span<const KindShape> scheduling_shapes() {
  return kShapes;
}

} // namespace berth::server::tables
