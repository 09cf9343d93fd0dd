// ClusterState: pods coming, going, assumed, nominated; what-if and its reversal.
#include "berth/sched/cluster_state.h"

#include <algorithm>

#include "berth/base/assert.h"

namespace berth::sched {
namespace {

constexpr std::size_t kAtEnd = SIZE_MAX;

} // namespace

void ClusterState::set_pod(const PodPtr& pod) {
  if (pod->pod->terminal()) {
    remove_pod(pod->uid);
    return;
  }
  if (pod->pod->spec.node_name.empty()) {
    return;
  }
  ++version_;
  const NodeId node = intern_node(pod->pod->spec.node_name);
  clear_nomination(pod->uid);
  storage_.drop(pod->uid);
  PlacedPod placed{.pod = pod,
                   .node = node,
                   .gpus = pod->bound_gpus,
                   .assumed = false,
                   .parts_known = false,
                   .slices = pod->bound_slices};
  std::size_t position = kAtEnd;
  if (const auto known = slot_of(pod->uid)) {
    const auto [before, before_position] = displace(*known);
    if (before.node == node) {
      position = before_position;
      placed.gpus = placed.gpus == 0 ? before.gpus : placed.gpus;
      placed.slices = placed.slices == nullptr ? before.slices : placed.slices;
    }
  }
  place(std::move(placed), position);
  look_at_fingerprint(node);
}

void ClusterState::remove_pod(std::string_view uid) {
  clear_nomination(uid);
  if (const auto slot = slot_of(uid)) {
    ++version_;
    storage_.drop(uid);
    const NodeId node = displace(*slot).first.node;
    look_at_fingerprint(node);
  }
}

void ClusterState::assume(const PodPtr& pod, NodeId node, hardware::GpuMask gpus) {
  try_assume(pod, node, gpus).commit();
  clear_nomination(pod->uid);
}

void ClusterState::forget(std::string_view uid) {
  const auto slot = slot_of(uid);
  if (slot && placed(*slot).assumed) {
    ++version_;
    storage_.drop(uid);
    displace(*slot);
  }
}

void ClusterState::hold_gpus(PodSlot slot, hardware::GpuMask gpus) {
  PlacedPod& placed = pods_[slot.index()];
  BERTH_ASSERT(placed.pod != nullptr, "no pod is placed in the slot");
  NodeInfo& node = nodes_[placed.node.index()];
  release_gpus(node, slot);
  BERTH_ASSERT((gpus & node.gpus.held) == 0,
               "gpus are held by another pod: " +
                   hardware::format_gpu_indices(gpus & node.gpus.held));
  placed.gpus = gpus;
  ++version_;
  take_gpus(node, slot);
  touch(node, {.node = node.id, .slot = slot, .pod = nullptr, .sign = 0});
}

void ClusterState::hold_slices(PodSlot slot, std::shared_ptr<const model::ChosenSlices> slices) {
  PlacedPod& placed = pods_[slot.index()];
  BERTH_ASSERT(placed.pod != nullptr, "no pod is placed in the slot");
  NodeInfo& node = nodes_[placed.node.index()];
  count_slices(node, placed, -1);
  placed.slices = std::move(slices);
  ++version_;
  count_slices(node, placed, 1);
  touch(node, {.node = node.id, .slot = slot, .pod = nullptr, .sign = 0});
}

void ClusterState::assume_volumes(std::string_view uid, const VolumePlan& plan) {
  const auto slot = slot_of(uid);
  BERTH_ASSERT(slot, "pod is not placed: " + std::string(uid));
  ++version_;
  storage_.assume(uid, plan, node_name(placed(*slot).node));
}

// ---- nominations
// ------------------------------------------------------------------------------------

void ClusterState::nominate(const PodPtr& pod, std::string_view node_name) {
  clear_nomination(pod->uid);
  ++version_;
  const NodeId node = intern_node(node_name);
  nominated_[node.index()].push_back(pod);
  ++nodes_[node.index()].nominated;
  touch(nodes_[node.index()]);
  nominations_.emplace(pod->uid, node);
}

void ClusterState::clear_nomination(std::string_view uid) {
  if (nominations_.empty()) {
    return;
  }
  const auto it = nominations_.find(uid);
  if (it == nominations_.end()) {
    return;
  }
  ++version_;
  const NodeId node = it->second;
  std::erase_if(nominated_[node.index()], [&](const PodPtr& pod) { return pod->uid == uid; });
  --nodes_[node.index()].nominated;
  touch(nodes_[node.index()]);
  nominations_.erase(it);
}

std::span<const PodPtr> ClusterState::nominated_to(NodeId node) const {
  return nominated_[node.index()];
}

std::vector<NodeId> ClusterState::nodes_with_nominations() const {
  std::vector<NodeId> nodes;
  for (const auto& [uid, node] : nominations_) {
    nodes.push_back(node);
  }
  std::ranges::sort(nodes);
  nodes.erase(std::ranges::unique(nodes).begin(), nodes.end());
  return nodes;
}

std::string_view ClusterState::nominated_node(std::string_view uid) const {
  if (nominations_.empty()) {
    return {};
  }
  const auto it = nominations_.find(uid);
  return it == nominations_.end() ? std::string_view() : node_name(it->second);
}

// ---- what if
// ----------------------------------------------------------------------------------------

Undo ClusterState::try_assume(const PodPtr& pod, NodeId node, hardware::GpuMask gpus) {
  const std::uint64_t before = changes_from_ + changes_.size();
  const std::uint64_t generation = nodes_[node.index()].generation;
  const PodSlot slot = place({.pod = pod,
                              .node = node,
                              .gpus = gpus,
                              .assumed = true,
                              .parts_known = false,
                              .slices = nullptr},
                             kAtEnd);
  return {*this,
          {.kind = Undo::Change::Kind::Placed,
           .placed = {.pod = nullptr, .node = node},
           .slot = slot,
           .position = 0,
           .before = before,
           .generation = generation}};
}

Undo ClusterState::try_remove(std::string_view uid) {
  const auto known = slot_of(uid);
  BERTH_ASSERT(known, "pod is not placed: " + std::string(uid));
  const PodSlot slot = *known;
  const std::uint64_t before = changes_from_ + changes_.size();
  const std::uint64_t generation = node(placed(slot).node).generation;
  auto [removed, position] = displace(slot);
  return {*this,
          {.kind = Undo::Change::Kind::Removed,
           .placed = std::move(removed),
           .slot = slot,
           .position = position,
           .before = before,
           .generation = generation}};
}

void ClusterState::undo(const Undo::Change& change) {
  switch (change.kind) {
  case Undo::Change::Kind::Placed:
    storage_.drop(placed(change.slot).pod->uid);
    displace(change.slot);
    break;
  case Undo::Change::Kind::Removed: {
    const PodSlot slot = place(change.placed, change.position);
    BERTH_ASSERT(slot == change.slot, "what-if guards ended out of order");
    break;
  }
  }
  forget_changes(change);
}

/// A change and its reversal that nobody has heard of need not be told.
void ClusterState::forget_changes(const Undo::Change& undone) {
  if (undone.before >= changes_from_ && read_to_ <= undone.before &&
      changes_from_ + changes_.size() == undone.before + 2) {
    changes_.resize(changes_.size() - 2);
    nodes_[undone.placed.node.index()].generation = undone.generation;
  }
}

// ---- budgets, namespaces, lookups
// -------------------------------------------------------------------

void ClusterState::set_budget(std::shared_ptr<const DisruptionBudget> budget) {
  ++version_;
  ++budget_version_;
  const api::Key key = budget->key;
  budgets_.insert_or_assign(key, std::move(budget));
}

void ClusterState::remove_budget(const api::Key& key) {
  ++version_;
  ++budget_version_;
  budgets_.erase(key);
}

void ClusterState::set_namespace(std::string_view name, const api::Labels& labels) {
  ++version_;
  ++namespace_version_;
  namespaces_.insert_or_assign(std::string(name), labels);
}

void ClusterState::remove_namespace(std::string_view name) {
  if (const auto it = namespaces_.find(name); it != namespaces_.end()) {
    ++version_;
    ++namespace_version_;
    namespaces_.erase(it);
  }
}

const api::Labels& ClusterState::namespace_labels(std::string_view name) const {
  static const api::Labels kNone;
  const auto it = namespaces_.find(name);
  return it == namespaces_.end() ? kNone : it->second;
}

std::optional<PodSlot> ClusterState::slot_of(std::string_view uid) const {
  return by_uid_.find(uid, uid_of());
}

const PlacedPod* ClusterState::find_pod(std::string_view uid) const {
  const auto slot = slot_of(uid);
  return slot ? &placed(*slot) : nullptr;
}

std::vector<const PlacedPod*> ClusterState::placed_pods() const {
  std::vector<const PlacedPod*> all;
  all.reserve(by_uid_.size());
  for (const PlacedPod& placed : pods_) {
    if (placed.pod != nullptr) {
      all.push_back(&placed);
    }
  }
  std::ranges::sort(all, {},
                    [](const PlacedPod* placed) -> const std::string& { return placed->pod->uid; });
  return all;
}

} // namespace berth::sched
