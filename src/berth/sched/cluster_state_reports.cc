// ClusterState: quotas, and what is reported of nodes.
#include "berth/sched/cluster_state.h"

#include <algorithm>

#include "berth/sched/pod_fingerprint.h"

namespace berth::sched {

void ClusterState::set_quota(QuotaPtr quota) {
  ++version_;
  const std::string ns = quota->meta.ns;
  if (quotas_.set(std::move(quota), resources_)) {
    for (const PlacedPod* placed : placed_pods()) {
      if (placed->pod->ns() == ns) {
        quotas_.count(*placed->pod, 1);
      }
    }
  }
}

void ClusterState::remove_quota(const api::Key& key) {
  ++version_;
  quotas_.remove(key, resources_);
}

NodeReports& ClusterState::change_reports(NodeId node) {
  ++version_;
  reports_.resize(std::max(reports_.size(), nodes_.size()));
  touch(nodes_[node.index()]);
  return reports_[node.index()];
}

const NodeReports& ClusterState::reports(NodeId node) const {
  static const NodeReports kNone;
  return node.index() < reports_.size() ? reports_[node.index()] : kNone;
}

void ClusterState::set_numa_report(const model::NodeResourceTopology& object) {
  const NodeId node = intern_node(object.meta.name);
  NodeReports& reports = change_reports(node);
  reports.numa = std::make_shared<const NumaReport>(numa_report(object, resources_));
  if (!reports.settled_numa) {
    settle_numa(node, reports);
  }
  look_at_fingerprint(node);
}

void ClusterState::remove_numa_report(std::string_view node_name) {
  if (const auto node = node_names_.find(node_name)) {
    NodeReports& reports = change_reports(*node);
    reports.numa = nullptr;
    reports.settled_numa = nullptr;
    reports.settled_pods.clear();
  }
}

void ClusterState::settle_numa(NodeId node, NodeReports& reports) {
  reports.settled_numa = reports.numa;
  reports.settled_pods.clear();
  for (const PodSlot slot : nodes_[node.index()].pods) {
    reports.settled_pods.push_back(placed(slot).pod->uid);
  }
  std::ranges::sort(reports.settled_pods);
}

/// A report that was ahead of, or behind, what is known here may agree by now.
void ClusterState::look_at_fingerprint(NodeId node) {
  if (node.index() >= reports_.size()) {
    return;
  }
  NodeReports& reports = reports_[node.index()];
  if (!reports.numa || reports.numa->fingerprint.empty() || reports.numa == reports.settled_numa) {
    return;
  }
  std::vector<api::Key> pods;
  for (const PodSlot slot : nodes_[node.index()].pods) {
    const model::Pod& pod = *placed(slot).pod->pod;
    if (reports.numa->fingerprint_of == FingerprintOf::AllPods ||
        has_exclusive_resources(pod.spec)) {
      pods.push_back(pod.key());
    }
  }
  if (pod_fingerprint(pods) == reports.numa->fingerprint) {
    settle_numa(node, change_reports(node));
  }
}

void ClusterState::set_node_metrics(std::shared_ptr<const model::NodeMetrics> metrics) {
  const NodeId node = intern_node(metrics->meta.name);
  change_reports(node).metrics = std::move(metrics);
  measure_load(node);
}

void ClusterState::remove_node_metrics(std::string_view node_name) {
  if (const auto node = node_names_.find(node_name)) {
    change_reports(*node).metrics = nullptr;
    measure_load(*node);
  }
}

void ClusterState::measure_load(NodeId node) {
  if (node.index() < reports_.size()) {
    NodeReports& reports = reports_[node.index()];
    const model::Node* object = nodes_[node.index()].node.get();
    const model::ResourceList none;
    reports.load = !reports.metrics
                       ? NodeLoad()
                       : node_load(*reports.metrics, object == nullptr ? none : object->capacity);
  }
}

} // namespace berth::sched
