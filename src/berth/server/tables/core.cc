// Kinds of the core group that are neither workloads, network nor storage. Source: printers.go.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/server/tables/cells.h"
#include "berth/server/tables/shapes.h"

namespace berth::server::tables {
namespace {

TableShape namespace_shape() {
  return {
      .columns = {
          name_column(),
          {.name = "Status", .description = "Active or Terminating.", .cell = text("status.phase")},
          age_column()}};
}

TableShape config_map_shape() {
  return {.columns = {name_column(),
                      {.name = "Data",
                       .description = "Number of entries.",
                       .cell = [](const Row& row) -> json::value {
                         return size_at(row.document(), "data") +
                                size_at(row.document(), "binaryData");
                       }},
                      age_column()}};
}

TableShape secret_shape() {
  return {
      .columns = {name_column(),
                  {.name = "Type", .description = "What the secret is for.", .cell = text("type")},
                  {.name = "Data", .description = "Number of entries.", .cell = size_of("data")},
                  age_column()}};
}

TableShape service_account_shape() {
  return {.columns = {name_column(),
                      {.name = "Secrets",
                       .description = "Number of secrets that pods of the account may use.",
                       .cell = size_of("secrets")},
                      age_column()}};
}

enum class Side { Requests, Limits };

/// "cpu: 1/4, pods: 3/10": used of hard, of the resources of one side.
std::string quota_text(const Row& row, Side side) {
  const json::object* hard = members_at(row.document(), "status.hard");
  const json::value* used = api::find_path(row.document(), "status.used");
  std::vector<std::string> parts;
  if (hard != nullptr) {
    for (const auto& [name, quantity] : *hard) {
      const bool limit = name.starts_with("limits.");
      if (limit == (side == Side::Limits)) {
        const json::value* so_far = used == nullptr ? nullptr : api::find(*used, name);
        parts.push_back(fmt::format("{}: {}/{}", std::string_view(name), quantity_text(so_far),
                                    quantity_text(&quantity)));
      }
    }
  }
  std::ranges::sort(parts, {},
                    [](const std::string& part) { return part.substr(0, part.find(':')); });
  return fmt::format("{}", fmt::join(parts, ", "));
}

TableShape quota_shape() {
  return {.columns = {
              name_column(),
              {.name = "Request",
               .description = "Requests and counts: used of what is allowed.",
               .cell = [](const Row& row) { return json::value(quota_text(row, Side::Requests)); }},
              {.name = "Limit",
               .description = "Limits: used of what is allowed.",
               .cell = [](const Row& row) { return json::value(quota_text(row, Side::Limits)); }},
              age_column()}};
}

/// The first condition Healthy of a component.
const json::value& healthy(const Row& row) {
  static const json::value kNone;
  for (const json::value& condition : list_at(row.document(), "conditions")) {
    if (api::string_at(condition, "type") == "Healthy") {
      return condition;
    }
  }
  return kNone;
}

TableShape component_status_shape() {
  return {
      .columns = {
          name_column(),
          {.name = "Status",
           .description = "Healthy, Unhealthy or Unknown.",
           .cell =
               [](const Row& row) {
                 const json::value& condition = healthy(row);
                 const bool well = api::string_at(condition, "status") == "True";
                 return json::value(condition.is_null() ? "Unknown"
                                    : well              ? "Healthy"
                                                        : "Unhealthy");
               }},
          {.name = "Message",
           .description = "Message of the condition.",
           .cell = [](const Row& row) { return json::value(text_at(healthy(row), "message")); }},
          {.name = "Error", .description = "Error of the condition.", .cell = [](const Row& row) {
             return json::value(text_at(healthy(row), "error"));
           }}}};
}

constexpr KindShape kShapes[] = {
    {"", "Pod", &pod_shape},
    {"", "Node", &node_shape},
    {"", "Event", &event_shape},
    {"events.k8s.io", "Event", &event_shape},
    {"", "Namespace", &namespace_shape},
    {"", "ConfigMap", &config_map_shape},
    {"", "Secret", &secret_shape},
    {"", "ServiceAccount", &service_account_shape},
    {"", "ResourceQuota", &quota_shape},
    {"", "ComponentStatus", &component_status_shape},
};

} // namespace

std::span<const KindShape> core_shapes() {
  return kShapes;
}

} // namespace berth::server::tables
