// HorizontalPodAutoscaler, of autoscaling/v2. Source: printers.go formatHPAMetrics.
#include <fmt/format.h>

#include "berth/server/tables/cells.h"
#include "berth/server/tables/shapes.h"

namespace berth::server::tables {
namespace {

constexpr std::string_view kUnknown = "<unknown>";

/// One metric: what it measures is under the member `source` of its spec and of its status.
struct Metric {
  const json::value& spec;
  const json::value& status; ///< null if there is none
  std::string source;        ///< "resource", "pods", ...

  const json::value* target(std::string_view name) const {
    return api::find_path(spec, fmt::format("{}.target.{}", source, name));
  }
  std::string current(std::string_view name) const {
    const json::value* at = api::find_path(status, fmt::format("{}.current.{}", source, name));
    return at == nullptr ? std::string(kUnknown) : quantity_text(at);
  }
  /// "10m/50m"
  std::string of(std::string_view name) const {
    return fmt::format("{}/{}", current(name), quantity_text(target(name)));
  }
};

/// "cpu: 12%/80%", "memory: 1Gi/2Gi".
std::string resource_text(const Metric& metric) {
  const std::string name = text_at(metric.spec, metric.source + ".name");
  if (metric.target("averageValue") != nullptr) {
    return fmt::format("{}: {}", name, metric.of("averageValue"));
  }
  const auto percent = [](const json::value* value, std::string_view otherwise) {
    return value == nullptr ? std::string(otherwise) : text_or_number(value, "0") + "%";
  };
  const json::value* current =
      api::find_path(metric.status, metric.source + ".current.averageUtilization");
  return fmt::format("{}: {}/{}", name, percent(current, kUnknown),
                     percent(metric.target("averageUtilization"), "<auto>"));
}

std::string metric_text(const json::value& spec, const json::value& status) {
  const std::string_view type = api::string_at(spec, "type");
  if (type == "Resource") {
    return resource_text({spec, status, "resource"});
  }
  if (type == "ContainerResource") {
    return resource_text({spec, status, "containerResource"});
  }
  if (type == "Pods") {
    return Metric{spec, status, "pods"}.of("averageValue");
  }
  if (type == "External" || type == "Object") {
    const Metric metric{spec, status, lower(type)};
    return metric.target("averageValue") != nullptr ? metric.of("averageValue") + " (avg)"
                                                    : metric.of("value");
  }
  return "<unknown type>";
}

json::value targets(const Row& row) {
  static const json::value kNone;
  const auto specs = list_at(row.document(), "spec.metrics");
  const auto statuses = list_at(row.document(), "status.currentMetrics");
  std::vector<std::string> out;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    out.push_back(metric_text(specs[i], i < statuses.size() ? statuses[i] : kNone));
  }
  return json::value(first_few(out, 2, "<none>", ", "));
}

json::value reference(const Row& row) {
  return json::value(fmt::format("{}/{}",
                                 api::string_at(row.document(), "spec.scaleTargetRef.kind"),
                                 api::string_at(row.document(), "spec.scaleTargetRef.name")));
}

} // namespace

TableShape autoscaler_shape() {
  return {
      .columns = {
          name_column(),
          {.name = "Reference", .description = "What it scales.", .cell = &reference},
          {.name = "Targets",
           .description = "What it measures, and what it shall be.",
           .cell = &targets},
          {.name = "MinPods",
           .description = "Fewest replicas.",
           .cell =
               [](const Row& row) {
                 return json::value(
                     text_or_number(api::find_path(row.document(), "spec.minReplicas"), "1"));
               }},
          {.name = "MaxPods", .description = "Most replicas.", .cell = number("spec.maxReplicas")},
          {.name = "Replicas",
           .description = "Replicas there are.",
           .cell = number("status.currentReplicas")},
          age_column()}};
}

} // namespace berth::server::tables
