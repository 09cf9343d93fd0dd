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
#include "berth/hardware/platform.h"
#include "berth/sched/affinity_terms.h"
#include "berth/sched/disruption_budget.h"
#include "berth/sched/node_info.h"
#include "berth/sched/node_reports.h"
#include "berth/sched/quota_state.h"
#include "berth/sched/shape.h"
#include "berth/sched/storage_state.h"
#include "berth/sched/topology.h"
#include "berth/sched/uid_index.h"
#include "berth/sched/undo.h"
#include "berth/sched/vgpu_quotas.h"
#include "berth/sched/workload_selectors.h"

namespace berth::sched {

/// What changed about a node: a pod came or went, or something else did (its object, what a pod
/// holds there, nominations).
struct NodeChange {
  NodeId node;
  PodSlot slot;         ///< of the pod that came, went or took hold of something
  PodPtr pod;           ///< that came or went; told only once the state was asked for a topology
  std::int8_t sign = 0; ///< 1: it came, -1: it went, 0: something else
};

/// Copyable; every operation is O(size of the pod or node), never O(cluster), except as said.
class ClusterState {
 public:
  /// Over the builtin catalogue.
  ClusterState();
  /// `catalogue` says which platforms nodes have.
  explicit ClusterState(hardware::Catalogue catalogue);

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
  /// For what informers say of ResourceQuotas; counts as one change.
  VgpuQuotas& change_vgpu_quotas() {
    ++version_;
    return vgpu_quotas_;
  }
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
  /// Says which GPUs a placed pod holds, whole or (PodInfo::share) in part. Precondition: placed;
  /// the GPUs have that much left.
  void hold_gpus(PodSlot slot, hardware::GpuMask gpus);
  /// The same of replicas and MIG devices.
  void hold_slices(PodSlot slot, std::shared_ptr<const model::ChosenSlices> slices);
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
  /// The number of changes so far. What-if changes that were rolled back before anybody asked leave
  /// no trace.
  std::uint64_t change_count() const {
    read_to_ = changes_from_ + changes_.size();
    return read_to_;
  }
  /// Changes since `change` (a change_count()), oldest first; none if that is too long ago to tell.
  std::optional<std::span<const NodeChange>> changed_since(std::uint64_t change) const;
  /// Nodes by their value of a label. O(nodes) at the first call for the label; kept up from then
  /// on. Stays where it is as long as the state does.
  const Topology& topology(std::string_view label) const;
  /// Upper bound (exclusive) of NodeId::index(), for arrays by node.
  std::size_t node_slots() const { return nodes_.size(); }
  const PlacedPod& placed(PodSlot slot) const { return pods_[slot.index()]; }
  /// Where a pod is kept; none if it is not placed.
  std::optional<PodSlot> slot_of(std::string_view uid) const;
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
  const VgpuQuotas& vgpu_quotas() const { return vgpu_quotas_; }
  /// Labels of a namespace; empty if unknown.
  const api::Labels& namespace_labels(std::string_view name) const;
  /// Names of GPU models that nodes have, or had.
  const Interner<GpuModelId>& gpu_models() const { return gpu_models_; }
  /// GPUs that nodes have to share, by model.
  std::span<const std::int64_t> gpu_supply() const { return gpu_supply_; }
  /// Some node has replicas or MIG devices of the resource, and says on which GPUs.
  bool has_slices(ResourceId resource) const {
    return resource.index() < slice_nodes_.size() && slice_nodes_[resource.index()] > 0;
  }
  /// Grows when that changes.
  std::uint64_t gpu_supply_version() const { return gpu_supply_version_; }
  /// Grows when labels of namespaces change.
  std::uint64_t namespace_version() const { return namespace_version_; }
  /// Grows when budgets change.
  std::uint64_t budget_version() const { return budget_version_; }
  /// Nodes with an allocatable amount of a resource that is not one of the inline ones, by id.
  std::span<const NodeId> nodes_with(ResourceId resource) const {
    return resource.index() < with_resource_.size() ? with_resource_[resource.index()]
                                                    : std::span<const NodeId>();
  }
  /// (Anti-)affinity terms of placed pods.
  const AffinityTerms& affinity_terms() const { return terms_; }
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
  /// For the index: uids of the pods in slots.
  auto uid_of() const {
    return [this](PodSlot slot) -> std::string_view { return placed(slot).pod->uid; };
  }
  NodeId intern_node(std::string_view name);
  PodSlot place(PlacedPod placed, std::size_t position);
  std::pair<PlacedPod, std::size_t> displace(PodSlot slot);
  void take_images(NodeInfo& info);
  void drop_images(NodeInfo& info);
  std::string dump_node(NodeId id) const;
  void account(NodeInfo& node, PodSlot slot, const PodPtr& pod, std::int8_t sign);
  void take_gpus(NodeInfo& node, PodSlot slot);
  void release_gpus(NodeInfo& node, PodSlot slot);
  void count_supply(const GpuParts& parts, std::int64_t sign);
  void set_slices(NodeInfo& node);
  void count_slices(NodeInfo& node, const PlacedPod& placed, std::int64_t sign);
  void take_parts(NodeInfo& node, PlacedPod& placed);
  void give_back_parts(NodeInfo& node, PlacedPod& placed);
  void apply_node(NodeInfo& info, std::shared_ptr<const model::Node> node);
  void touch(NodeInfo& info) {
    touch(info, {.node = info.id, .slot = {}, .pod = nullptr, .sign = 0});
  }
  void touch(NodeInfo& info, NodeChange change);
  void forget_changes(const Undo::Change& undone);
  void index_resources(NodeId node, const Resources& before, const Resources& after);
  NodeReports& change_reports(NodeId node);
  void settle_numa(NodeId node, NodeReports& reports);
  void look_at_fingerprint(NodeId node);
  void measure_load(NodeId node);
  void undo(const Undo::Change& change);

  hardware::Catalogue catalogue_;
  ResourceNames resources_;
  ShapeTable shapes_;
  AffinityTerms terms_;
  Interner<NodeId> node_names_;
  std::vector<NodeInfo> nodes_;
  std::vector<NodeId> order_;
  std::vector<PlacedPod> pods_;
  std::vector<PodSlot> free_slots_;
  UidIndex by_uid_;
  std::vector<std::vector<PodPtr>> nominated_; // by node
  TextMap<NodeId> nominations_;
  std::map<api::Key, std::shared_ptr<const DisruptionBudget>> budgets_;
  std::map<std::string, api::Labels, std::less<>> namespaces_;
  StorageState storage_;
  std::vector<std::vector<NodeId>> with_resource_; // by ResourceId
  QuotaState quotas_;
  std::vector<NodeReports> reports_; ///< by node; shorter where nothing is reported
  WorkloadSelectors workloads_;
  VgpuQuotas vgpu_quotas_;
  Interner<ImageId> image_names_;
  std::vector<Image> images_; // by ImageId
  Interner<GpuModelId> gpu_models_;
  std::vector<std::int64_t> gpu_supply_; // by GpuModelId
  std::uint64_t gpu_supply_version_ = 0;
  std::vector<std::uint32_t> slice_nodes_; // by ResourceId
  std::size_t assumed_ = 0;
  std::uint64_t generation_ = 0;
  std::uint64_t version_ = 0;
  std::uint64_t node_set_version_ = 0;
  std::uint64_t image_version_ = 0;
  std::uint64_t namespace_version_ = 0;
  std::uint64_t budget_version_ = 0;
  std::uint64_t arrivals_ = 0;
  std::vector<NodeChange> changes_; ///< numbers changes_from_ and on
  std::uint64_t changes_from_ = 0;
  mutable std::uint64_t read_to_ = 0; ///< somebody knows the changes before this one
  mutable std::map<std::string, Topology, std::less<>> topologies_; ///< made when first asked for
};

} // namespace berth::sched
