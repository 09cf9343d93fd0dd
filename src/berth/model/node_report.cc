#include "berth/model/node_report.h"

#include <cmath>

#include <fmt/format.h>

#include "berth/model/decode.h"

namespace berth::model {

using api::Field;

namespace {

void read_attributes(const Field& in, std::map<std::string, std::string, std::less<>>& out) {
  in.within("attributes", [&](const Field& list) {
    list.each([&](const Field& item) {
      std::string name;
      std::string value;
      item.read("name", name);
      item.read("value", value);
      out.insert_or_assign(std::move(name), std::move(value));
    });
  });
}

} // namespace

void decode(const Field& in, NodeResourceTopology::Resource& out) {
  in.read("name", out.name);
  in.read("capacity", out.capacity);
  in.read("allocatable", out.allocatable);
  in.read("available", out.available);
}

void decode(const Field& in, NodeResourceTopology::Cost& out) {
  in.read("name", out.name);
  in.read("value", out.value);
}

void decode(const Field& in, NodeResourceTopology::Zone& out) {
  in.read("name", out.name);
  in.read("type", out.type);
  in.read("costs", out.costs);
  in.read("resources", out.resources);
}

void decode(const Field& in, NodeResourceTopology& out) {
  in.read("metadata", out.meta);
  in.read("topologyPolicies", out.topology_policies);
  read_attributes(in, out.attributes);
  in.read("zones", out.zones);
}

void decode(const Field& in, NodeMetrics::Metric& out) {
  in.read("type", out.type);
  in.read("operator", out.op);
  in.within("value", [&](const Field& field) {
    if (!field.value().is_number()) {
      return field.expected("a number");
    }
    out.value = field.value().to_number<double>();
    if (!std::isfinite(out.value) || out.value < 0) {
      field.fail(fmt::format("must be a percentage of 0 or more, got {}", out.value));
    }
  });
}

void decode(const Field& in, NodeMetrics& out) {
  in.read("metadata", out.meta);
  in.read("timestamp", out.timestamp);
  in.read("usage", out.usage);
  in.read("metrics", out.metrics);
}

Result<std::shared_ptr<const NodeResourceTopology>>
decode_node_resource_topology(const api::json::value& document) {
  return decode_shared<NodeResourceTopology>(document);
}

Result<std::shared_ptr<const NodeMetrics>> decode_node_metrics(const api::json::value& document) {
  return decode_shared<NodeMetrics>(document);
}

} // namespace berth::model
