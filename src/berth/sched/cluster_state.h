// The scheduler's picture of the cluster: nodes, the pods on them (bound or assumed), GPUs one by
// one, nominated pods, budgets. Mirrors kube-scheduler's cache and nominator (spec 1.4, 1.5),
// without copies: the state itself is the snapshot of a cycle, and what-if changes are taken back
// by guards.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/base/text_map.h"
#include "berth/sched/disruption_budget.h"
#include "berth/sched/node_info.h"
#include "berth/sched/node_reports.h"
#include "berth/sched/quota_state.h"
#include "berth/sched/shape.h"
#include "berth/sched/storage_state.h"
#include "berth/sched/undo.h"
#include "berth/sched/workload_selectors.h"

namespace berth::sched {

/// Copyable; every operation is O(size of the pod or node), never O(cluster), except as said.
class ClusterState {
 public:
  ClusterState();

  // ---- pods and resources as values -------------------------------------------------------------
  /// Computes what the scheduler needs of a pod once. Interns resource names, and the shape of a
  /// pod without a node.
  PodPtr describe(std::shared_ptr<const model::Pod> pod);
  const ResourceNames& resource_names() const { return resources_; }
  ResourceId resource(std::string_view name) { return resources_.intern(name); }

  // ---- what informers say -----------------------------------------------------------------------
  /// Adds or replaces a node. Pods that arrived before it (imaginary node) stay counted.
  NodeId set_node(std::shared_ptr<const model::Node> node);
  /// Forgets the object; the entry stays, imaginary, while pods remain on it. Unknown names are
  /// ignored. O(nodes).
  void remove_node(std::string_view name);
  /// An assigned pod as seen by the informer: adds it, confirms it if assumed, moves it if it
  /// landed elsewhere, updates it if known. A terminal pod is removed. GPU indices: from the
  /// annotation, else those assumed. Pods without spec.nodeName are ignored unless assumed.
  void set_pod(const PodPtr& pod);
  /// The pod is gone. Also ends its nomination. Unknown uids are ignored.
  void remove_pod(std::string_view uid);
  void set_budget(std::shared_ptr<const DisruptionBudget> budget);
  void remove_budget(const api::Key& key);
  void set_namespace(std::string_view name, const api::Labels& labels);
  void remove_namespace(std::string_view name);
  /// For what informers say of storage objects; counts as one change.
  StorageState& change_storage() {
    ++version_;
    return storage_;
  }
  /// Counts the namespace's pods if it had no quota before: O(pods log pods) then.
  void set_quota(QuotaPtr quota);
  void remove_quota(const api::Key& key);
  /// Reports may come before their node.
  void set_numa_report(const model::NodeResourceTopology& object);
  void remove_numa_report(std::string_view node_name);
  void set_node_metrics(std::shared_ptr<const model::NodeMetrics> metrics);
  void remove_node_metrics(std::string_view node_name);
  /// For what informers say of Services and controllers; counts as one change.
  WorkloadSelectors& change_workloads() {
    ++version_;
    return workloads_;
  }

  // ---- what the scheduler decides ---------------------------------------------------------------
  /// Puts the pod on the node until told otherwise; ends its nomination. Precondition: not placed,
  /// node known.
  void assume(const PodPtr& pod, NodeId node, hardware::GpuMask gpus = 0);
  /// Takes an assumed pod back. Ignored if it is unknown or already confirmed.
  void forget(std::string_view uid);
  /// Says which GPUs a placed pod holds. Precondition: placed; the indices are not held by another
  /// pod.
  void hold_gpus(std::string_view uid, hardware::GpuMask gpus);
  /// Counts what was decided for a placed pod's claims as written, until the pod loses its node or
  /// is seen bound. Precondition: placed.
  void assume_volumes(std::string_view uid, const VolumePlan& plan);
  /// Remembers that the pod waits for room on the node (status.nominatedNodeName); replaces an
  /// earlier nomination.
  void nominate(const PodPtr& pod, std::string_view node_name);
  void clear_nomination(std::string_view uid);

  // ---- what if: rolled back when the guard goes, unless committed; guards end in reverse order
  // ------------
  Undo try_assume(const PodPtr& pod, NodeId node, hardware::GpuMask gpus = 0);
  /// Removes a placed pod from its node. Precondition: placed.
  Undo try_remove(std::string_view uid);

  // ---- reading ----------------------------------------------------------------------------------
  /// Nodes that have an object, in order of first arrival.
  std::span<const NodeId> nodes() const { return order_; }
  const NodeInfo& node(NodeId id) const { return nodes_[id.index()]; }
  /// A node with an object, by name.
  std::optional<NodeId> find_node(std::string_view name) const;
  /// Name of any node ever seen.
  const std::string& node_name(NodeId id) const { return node_names_.name(id); }
  /// Grows when nodes come or go.
  std::uint64_t node_set_version() const { return node_set_version_; }
  /// Grows when the images of a node change.
  std::uint64_t image_version() const { return image_version_; }
  /// The number of changes so far, what-if changes included, and the node of each of the last few.
  std::uint64_t change_count() const { return changes_from_ + changes_.size(); }
  /// Nodes changed since `change`, with repeats, oldest first; none if that is too long ago to
  /// tell.
  std::optional<std::span<const NodeId>> changed_since(std::uint64_t change) const;
  /// Upper bound (exclusive) of NodeId::index(), for arrays by node.
  std::size_t node_slots() const { return nodes_.size(); }
  const PlacedPod& placed(PodSlot slot) const { return pods_[slot.index()]; }
  const PlacedPod* find_pod(std::string_view uid) const;
  /// All placed pods, sorted by uid. O(pods log pods).
  std::vector<const PlacedPod*> placed_pods() const;
  std::size_t pod_count() const { return by_uid_.size(); }
  std::size_t assumed_count() const { return assumed_; }
  /// Pods nominated to the node, in order of nomination.
  std::span<const PodPtr> nominated_to(NodeId node) const;
  /// Nodes that pods are nominated to, sorted. O(nominations log nominations).
  std::vector<NodeId> nodes_with_nominations() const;
  /// "" if none.
  std::string_view nominated_node(std::string_view uid) const;
  const std::map<api::Key, std::shared_ptr<const DisruptionBudget>>& budgets() const {
    return budgets_;
  }
  const StorageState& storage() const { return storage_; }
  const QuotaState& quotas() const { return quotas_; }
  /// Of a node or of one not seen yet.
  const NodeReports& reports(NodeId node) const;
  const WorkloadSelectors& workloads() const { return workloads_; }
  /// Labels of a namespace; empty if unknown.
  const api::Labels& namespace_labels(std::string_view name) const;
  /// Nodes that hold pods with (anti-)affinity terms, by id.
  std::span<const NodeId> nodes_with_affinity() const { return with_affinity_; }
  std::span<const NodeId> nodes_with_required_anti_affinity() const { return with_anti_affinity_; }
  /// An image some node has: its size as first reported and on how many nodes it is.
  struct Image {
    ImageId id;
    std::int64_t size = 0;
    std::int64_t nodes = 0;
  };
  /// By normalised reference; none if no node has it.
  std::optional<Image> find_image(std::string_view reference) const;
  std::uint64_t generation() const { return generation_; }
  /// Grows with every change that can matter to a decision; what-if changes count when committed.
  std::uint64_t version() const { return version_; }

  /// Every observable field, as text, in one order: two states are equal iff their texts are. For
  /// tests and debugging.
  std::string dump() const;

 private:
  friend class Undo;
  NodeId intern_node(std::string_view name);
  PodSlot place(PlacedPod placed, std::size_t position);
  std::pair<PlacedPod, std::size_t> displace(PodSlot slot);
  void take_images(NodeInfo& info);
  void drop_images(NodeInfo& info);
  std::string dump_node(NodeId id) const;
  void account(NodeInfo& node, const PodInfo& pod, std::int64_t sign);
  void take_gpus(NodeInfo& node, PodSlot slot);
  void release_gpus(NodeInfo& node, PodSlot slot);
  void apply_node(NodeInfo& info, std::shared_ptr<const model::Node> node);
  void touch(NodeInfo& info);
  NodeReports& change_reports(NodeId node);
  void settle_numa(NodeId node, NodeReports& reports);
  void look_at_fingerprint(NodeId node);
  void measure_load(NodeId node);
  void undo(const Undo::Change& change);

  ResourceNames resources_;
  ShapeTable shapes_;
  Interner<NodeId> node_names_;
  std::vector<NodeInfo> nodes_;
  std::vector<NodeId> order_;
  std::vector<PlacedPod> pods_;
  std::vector<PodSlot> free_slots_;
  TextMap<PodSlot> by_uid_;
  std::vector<std::vector<PodPtr>> nominated_; // by node
  TextMap<NodeId> nominations_;
  std::map<api::Key, std::shared_ptr<const DisruptionBudget>> budgets_;
  std::map<std::string, api::Labels, std::less<>> namespaces_;
  StorageState storage_;
  QuotaState quotas_;
  std::vector<NodeReports> reports_; ///< by node; shorter where nothing is reported
  WorkloadSelectors workloads_;
  std::vector<NodeId> with_affinity_;
  std::vector<NodeId> with_anti_affinity_;
  Interner<ImageId> image_names_;
  std::vector<Image> images_; // by ImageId
  std::size_t assumed_ = 0;
  std::uint64_t generation_ = 0;
  std::uint64_t version_ = 0;
  std::uint64_t node_set_version_ = 0;
  std::uint64_t image_version_ = 0;
  std::uint64_t arrivals_ = 0;
  std::vector<NodeId> changes_; ///< numbers changes_from_ and on
  std::uint64_t changes_from_ = 0;
};

} // namespace berth::sched
