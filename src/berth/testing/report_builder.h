// elastic_quota("q").min("cpu", "4"), numa_report("n").zone("node-0").free("cpu", "3"),
// node_metrics("n").measured("CPU", "AVG", 40), service("s").selects("app", "x"): what the plugins
// of scheduler-plugins and default spread constraints read, for tests.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "berth/model/elastic_quota.h"
#include "berth/model/node_report.h"
#include "berth/model/pod_selector.h"
#include "berth/testing/object_builder.h"

namespace berth::test {

class ElasticQuotaBuilder : public ObjectBuilder<ElasticQuotaBuilder> {
 public:
  explicit ElasticQuotaBuilder(std::string_view name)
      : ObjectBuilder("scheduling.x-k8s.io/v1alpha1", "ElasticQuota", name) {
    ns("default");
  }
  ElasticQuotaBuilder& min(std::string_view resource, std::string_view quantity) {
    api::object_at(spec(), "min")[text(resource)] = text(quantity);
    return *this;
  }
  ElasticQuotaBuilder& max(std::string_view resource, std::string_view quantity) {
    api::object_at(spec(), "max")[text(resource)] = text(quantity);
    return *this;
  }
  std::shared_ptr<const model::ElasticQuota> build() const {
    return decoded(model::decode_elastic_quota(json::value(document())));
  }
};

/// Policy single-numa-node, scope container.
class NumaReportBuilder : public ObjectBuilder<NumaReportBuilder> {
 public:
  explicit NumaReportBuilder(std::string_view node)
      : ObjectBuilder("topology.node.k8s.io/v1alpha2", "NodeResourceTopology", node) {
    attribute("topologyManagerPolicy", "single-numa-node");
  }
  /// Sets or replaces.
  NumaReportBuilder& attribute(std::string_view name, std::string_view value) {
    json::array& list = list_at(root(), "attributes");
    for (json::value& known : list) {
      if (api::string_at(known, "name") == name) {
        known.as_object()["value"] = text(value);
        return *this;
      }
    }
    list.emplace_back(json::object{{"name", text(name)}, {"value", text(value)}});
    return *this;
  }
  NumaReportBuilder& policy(std::string_view policy) {
    return attribute("topologyManagerPolicy", policy);
  }
  NumaReportBuilder& scope(std::string_view scope) {
    return attribute("topologyManagerScope", scope);
  }
  NumaReportBuilder& fingerprint(std::string_view of_pods) {
    return attribute("nodeTopologyPodsFingerprint", of_pods);
  }
  /// A further zone; what follows speaks of it.
  NumaReportBuilder& zone(std::string_view name) {
    list_at(root(), "zones").emplace_back(json::object{{"name", text(name)}, {"type", "Node"}});
    return *this;
  }
  NumaReportBuilder& free(std::string_view resource, std::string_view quantity) {
    list_at(current(), "resources")
        .emplace_back(json::object{{"name", text(resource)},
                                   {"capacity", text(quantity)},
                                   {"allocatable", text(quantity)},
                                   {"available", text(quantity)}});
    return *this;
  }
  NumaReportBuilder& cost(std::string_view zone, std::int64_t value) {
    list_at(current(), "costs").emplace_back(json::object{{"name", text(zone)}, {"value", value}});
    return *this;
  }
  std::shared_ptr<const model::NodeResourceTopology> build() const {
    return decoded(model::decode_node_resource_topology(json::value(document())));
  }

 private:
  json::object& current() { return list_at(root(), "zones").back().as_object(); }
};

class NodeMetricsBuilder : public ObjectBuilder<NodeMetricsBuilder> {
 public:
  explicit NodeMetricsBuilder(std::string_view node)
      : ObjectBuilder("metrics.k8s.io/v1beta1", "NodeMetrics", node) {}
  NodeMetricsBuilder& at(TimePoint end_of_window) {
    root()["timestamp"] = json::value(to_rfc3339(end_of_window));
    return *this;
  }
  NodeMetricsBuilder& usage(std::string_view resource, std::string_view quantity) {
    api::object_at(root(), "usage")[text(resource)] = text(quantity);
    return *this;
  }
  NodeMetricsBuilder& measured(std::string_view type, std::string_view op, double percent) {
    list_at(root(), "metrics")
        .emplace_back(
            json::object{{"type", text(type)}, {"operator", text(op)}, {"value", percent}});
    return *this;
  }
  std::shared_ptr<const model::NodeMetrics> build() const {
    return decoded(model::decode_node_metrics(json::value(document())));
  }
};

/// A Service; a ReplicaSet with replica_set().
class SelectorBuilder : public ObjectBuilder<SelectorBuilder> {
 public:
  using ObjectBuilder::ObjectBuilder;
  SelectorBuilder& selects(std::string_view key, std::string_view value) {
    json::object& selector = api::object_at(spec(), "selector");
    if (is_service()) {
      selector[text(key)] = text(value);
      return *this;
    }
    api::object_at(selector, "matchLabels")[text(key)] = text(value);
    json::object& meta = api::object_at(api::object_at(spec(), "template"), "metadata");
    api::object_at(meta, "labels")[text(key)] = text(value); // or a server would refuse it
    return *this;
  }
  /// A Service without an address may be without ports.
  SelectorBuilder& headless() {
    spec()["clusterIP"] = "None";
    return *this;
  }
  bool is_service() const { return document().at("kind") == "Service"; }
  std::shared_ptr<const model::PodSelector> build() const {
    const json::value whole(document());
    return decoded(is_service() ? model::decode_label_map(whole)
                                : model::decode_pod_selector(whole));
  }
};

inline ElasticQuotaBuilder elastic_quota(std::string_view name) {
  return ElasticQuotaBuilder(name);
}
inline NumaReportBuilder numa_report(std::string_view node) {
  return NumaReportBuilder(node);
}
inline NodeMetricsBuilder node_metrics(std::string_view node) {
  return NodeMetricsBuilder(node);
}
inline SelectorBuilder service(std::string_view name) {
  return SelectorBuilder("v1", "Service", name).ns("default").headless();
}
inline SelectorBuilder replica_set(std::string_view name) {
  return SelectorBuilder("apps/v1", "ReplicaSet", name).ns("default");
}

} // namespace berth::test
