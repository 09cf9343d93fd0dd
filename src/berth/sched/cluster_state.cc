#include "berth/sched/cluster_state.h"

#include <algorithm>
#include <utility>

#include "berth/base/assert.h"
#include "berth/model/hami.h"
#include "berth/model/requests.h"

namespace berth::sched {

ClusterState::ClusterState() : ClusterState(hardware::Catalogue::builtin()) {}

ClusterState::ClusterState(hardware::Catalogue catalogue)
    : catalogue_(std::move(catalogue)), resources_(make_resource_names()) {}

namespace {

std::vector<HostPort> host_ports_of(const model::PodSpec& spec) {
  std::vector<HostPort> ports;
  const auto collect = [&](const model::Container& container) {
    for (const auto& port : container.ports) {
      const int host_port =
          port.host_port == 0 && spec.host_network ? port.container_port : port.host_port;
      if (host_port > 0) {
        ports.push_back({.ip = port.host_ip.empty() ? "0.0.0.0" : port.host_ip,
                         .protocol = port.protocol.empty() ? "TCP" : port.protocol,
                         .port = host_port});
      }
    }
  };
  for (const auto& container : spec.init_containers) {
    if (container.restart_policy == "Always") {
      collect(container);
    }
  }
  std::ranges::for_each(spec.containers, collect);
  std::ranges::sort(ports);
  return ports;
}

hardware::GpuMask mask_of(const std::vector<int>& indices) {
  hardware::GpuMask mask = 0;
  for (const int index : indices) {
    mask |= hardware::GpuMask{1} << index;
  }
  return mask;
}

hardware::GpuMask lowest_gpus(std::size_t count) {
  return static_cast<hardware::GpuMask>((std::uint64_t{1} << count) - 1);
}

hardware::GpuMask gpu_annotation(const api::Labels& annotations, std::string_view key) {
  const auto it = annotations.find(key);
  return it == annotations.end() ? 0 : hardware::parse_gpu_indices(it->second).value_or(0);
}

} // namespace

PodPtr ClusterState::describe(std::shared_ptr<const model::Pod> pod) {
  auto info = std::make_shared<PodInfo>();
  const auto& spec = pod->spec;
  info->uid = pod->meta.uid.empty() ? pod->key().to_string() : pod->meta.uid;
  info->priority = pod->priority();
  const model::ResourceList requests = model::effective_requests(spec);
  for (const auto& [name, quantity] : requests) {
    const std::int64_t amount = amount_of(name, quantity);
    if (amount > 0 && is_counted_resource(name)) {
      info->requests.emplace_back(resources_.intern(name), amount);
    }
  }
  std::ranges::sort(info->requests);
  const auto nonzero = model::nonzero_requests(spec);
  if (const auto it = nonzero.find("cpu"); it != nonzero.end()) {
    info->nonzero_cpu = it->second.milli_value();
  }
  if (const auto it = nonzero.find("memory"); it != nonzero.end()) {
    info->nonzero_memory = it->second.value();
  }
  info->gpus = info->request(kGpu);
  if (auto share = model::gpu_share_of(*pod, requests); !share) {
    info->share_fault = std::move(share.error().message);
  } else if (share->gpus > 0) {
    info->share = std::make_shared<const model::GpuShare>(*std::move(share));
  }
  info->bound_gpus = info->share != nullptr
                         ? mask_of(info->share->indices)
                         : gpu_annotation(pod->meta.annotations, model::kGpuIndicesAnnotation);
  if (auto slices = model::slices_of_pod(pod->meta.annotations); !slices.empty()) {
    info->bound_slices = std::make_shared<const model::ChosenSlices>(std::move(slices));
  }
  info->host_ports = host_ports_of(spec);
  for (const auto* containers : {&spec.init_containers, &spec.containers}) {
    for (const auto& container : *containers) {
      info->images.push_back(normalised_image(container.image));
    }
  }
  info->image_containers = static_cast<std::int64_t>(info->images.size());
  for (const auto& image : spec.image_volumes) {
    info->images.push_back(normalised_image(image));
  }
  info->pod = std::move(pod);
  if (info->pod->spec.node_name.empty()) {
    info->shape = shapes_.intern(info);
  }
  if (info->has_affinity()) {
    info->terms = terms_.intern(info);
  }
  return info;
}

// ---- nodes
// ------------------------------------------------------------------------------------------

NodeId ClusterState::intern_node(std::string_view name) {
  const NodeId id = node_names_.intern(name);
  if (id.index() == nodes_.size()) {
    nodes_.emplace_back();
    nodes_.back().id = id;
    nominated_.emplace_back();
  }
  return id;
}

NodeId ClusterState::set_node(std::shared_ptr<const model::Node> node) {
  ++version_;
  const NodeId id = intern_node(node->name());
  NodeInfo& info = nodes_[id.index()];
  if (!info.node) {
    order_.push_back(id);
    info.arrival = ++arrivals_;
    ++node_set_version_;
  }
  apply_node(info, std::move(node));
  measure_load(id);
  return id;
}

void ClusterState::drop_images(NodeInfo& info) {
  for (const ImageId id : info.images) {
    --images_[id.index()].nodes;
  }
  info.images.clear();
}

void ClusterState::take_images(NodeInfo& info) {
  for (const auto& image : info.node->images) {
    for (const auto& name : image.names) {
      const ImageId id = image_names_.intern(name);
      if (id.index() == images_.size()) {
        images_.push_back({.id = id, .size = 0, .nodes = 0});
      }
      if (std::ranges::find(info.images, id) == info.images.end()) {
        Image& known = images_[id.index()];
        known.size = known.nodes == 0 ? image.size_bytes : known.size;
        ++known.nodes;
        info.images.push_back(id);
      }
    }
  }
  std::ranges::sort(info.images);
}

namespace {

void set_domain(Topology& topology, const NodeInfo& info) {
  const std::string* value = nullptr;
  if (info.node) {
    const auto label = info.labels().find(topology.key());
    value = label == info.labels().end() ? nullptr : &label->second;
  }
  topology.set(info.id, value);
}

} // namespace

const Topology& ClusterState::topology(std::string_view label) const {
  const auto known = topologies_.find(label);
  if (known != topologies_.end()) {
    return known->second;
  }
  Topology& made = topologies_.emplace(label, Topology(std::string(label))).first->second;
  for (const NodeInfo& info : nodes_) {
    set_domain(made, info);
  }
  return made;
}

void ClusterState::index_resources(NodeId node, const Resources& before, const Resources& after) {
  const auto lacks = [](const Resources& resources, ResourceId id) {
    return resources.get(id) == 0;
  };
  for (const auto& [id, amount] : before.others()) {
    if (lacks(after, id)) {
      std::erase(with_resource_[id.index()], node);
    }
  }
  for (const auto& [id, amount] : after.others()) {
    if (lacks(before, id)) {
      with_resource_.resize(std::max<std::size_t>(with_resource_.size(), id.index() + 1));
      std::vector<NodeId>& nodes = with_resource_[id.index()];
      nodes.insert(std::ranges::lower_bound(nodes, node), node);
    }
  }
}

void ClusterState::apply_node(NodeInfo& info, std::shared_ptr<const model::Node> node) {
  const std::vector<ImageId> images_before = info.images;
  drop_images(info);
  const Resources allocatable_before = std::exchange(info.allocatable, Resources());
  info.allowed_pods = 0;
  info.unschedulable = false;
  info.hard_taints = 0;
  info.soft_taints = 0;
  info.platform = nullptr;
  info.gpus.all = 0;
  info.gpus.unhealthy = 0;
  info.gpus.vgpus = node && model::hami::shares_gpus(*node);
  const GpuParts parts_before = info.parts;
  info.parts = {};
  info.node = std::move(node);
  if (info.node) {
    for (const auto& [name, quantity] : info.node->allocatable) {
      if (name == "pods") {
        info.allowed_pods = quantity.value();
      } else if (is_counted_resource(name)) {
        info.allocatable.set(resources_.intern(name), amount_of(name, quantity));
      }
    }
    take_images(info);
    info.unschedulable = info.node->unschedulable;
    for (const auto& taint : info.node->taints) {
      ++(taint.effect == "PreferNoSchedule" ? info.soft_taints : info.hard_taints);
    }
    info.platform = catalogue_.of_node(*info.node);
    if (info.platform != nullptr) {
      info.gpus.all = lowest_gpus(info.platform->gpus.size());
    }
    const model::ShareableGpus shareable = model::shareable_gpus(*info.node);
    info.parts = {.all = info.gpus.all != 0 ? info.gpus.all
                                            : lowest_gpus(static_cast<std::size_t>(shareable.gpus)),
                  .memory = shareable.memory,
                  .memory_unit = shareable.memory_unit,
                  .model = gpu_models_.intern(shareable.model)};
    info.gpus.unhealthy =
        gpu_annotation(info.node->meta.annotations, model::kUnhealthyGpusAnnotation) &
        (info.gpus.all | info.parts.all);
  }
  set_slices(info);
  image_version_ += info.images == images_before ? 0 : 1;
  if (info.parts.model != parts_before.model || info.parts.all != parts_before.all) {
    count_supply(parts_before, -1);
    count_supply(info.parts, 1);
  }
  index_resources(info.id, allocatable_before, info.allocatable);
  for (auto& [label, topology] : topologies_) {
    set_domain(topology, info);
  }
  // Which GPUs are known may have changed: hold again, in order of arrival.
  info.gpus.held = 0;
  info.gpus.shared = 0;
  info.gpus.unplaced = 0;
  info.gpus.holder.fill(PodSlot());
  for (const PodSlot slot : info.pods) {
    take_gpus(info, slot);
  }
  touch(info);
}

void ClusterState::touch(NodeInfo& info, NodeChange change) {
  info.generation = ++generation_;
  // What a pod holds changes with its coming: one entry is enough for who has heard of neither.
  if (change.sign == 0 && change.slot.valid() && !changes_.empty() &&
      changes_.back().slot == change.slot && changes_.back().node == change.node &&
      read_to_ < changes_from_ + changes_.size()) {
    return;
  }
  // Half is dropped at a time: a reader that is so far behind looks at every node anyway.
  if (changes_.size() >= 2 * nodes_.size() + 1024) {
    const std::size_t old = changes_.size() / 2;
    changes_.erase(changes_.begin(), changes_.begin() + static_cast<std::ptrdiff_t>(old));
    changes_from_ += old;
  }
  changes_.push_back(std::move(change));
}

std::optional<std::span<const NodeChange>> ClusterState::changed_since(std::uint64_t change) const {
  if (change < changes_from_) {
    return std::nullopt;
  }
  return std::span<const NodeChange>(changes_).subspan(
      static_cast<std::size_t>(change - changes_from_));
}

void ClusterState::remove_node(std::string_view name) {
  const auto id = find_node(name);
  if (!id) {
    return;
  }
  ++version_;
  ++node_set_version_;
  std::erase(order_, *id);
  apply_node(nodes_[id->index()], nullptr);
}

std::optional<NodeId> ClusterState::find_node(std::string_view name) const {
  const auto id = node_names_.find(name);
  return id && nodes_[id->index()].node ? id : std::nullopt;
}

std::optional<ClusterState::Image> ClusterState::find_image(std::string_view reference) const {
  const auto id = image_names_.find(reference);
  return id && images_[id->index()].nodes > 0 ? std::optional(images_[id->index()]) : std::nullopt;
}

// ---- accounting
// -------------------------------------------------------------------------------------

void ClusterState::account(NodeInfo& node, PodSlot slot, const PodPtr& pod_ptr, std::int8_t sign) {
  const PodInfo& pod = *pod_ptr;
  for (const auto& [resource, amount] : pod.requests) {
    node.requested.add(resource, sign * amount);
  }
  node.nonzero_cpu += sign * pod.nonzero_cpu;
  node.nonzero_memory += sign * pod.nonzero_memory;
  for (const auto& port : pod.host_ports) {
    const auto it = std::ranges::lower_bound(node.used_ports, port);
    if (sign > 0) {
      node.used_ports.insert(it, port);
    } else {
      node.used_ports.erase(it);
    }
  }
  if (!pod.pod->spec.volumes.empty()) {
    storage_.count_users(*pod.pod, sign);
  }
  if (!quotas_.empty()) {
    quotas_.count(pod, sign);
  }
  if (pod.terms.valid()) {
    terms_.count(pod.terms, sign);
    node.pods_with_affinity += sign;
  }
  const bool told = !topologies_.empty();
  touch(node, {.node = node.id, .slot = slot, .pod = told ? pod_ptr : nullptr, .sign = sign});
}

PodSlot ClusterState::place(PlacedPod placed, std::size_t position) {
  PodSlot slot(static_cast<std::uint32_t>(pods_.size()));
  if (free_slots_.empty()) {
    pods_.emplace_back();
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  NodeInfo& node = nodes_[placed.node.index()];
  const bool inserted = by_uid_.insert(placed.pod->uid, slot, uid_of());
  BERTH_ASSERT(inserted, "pod is placed already: " + placed.pod->uid);
  assumed_ += placed.assumed ? 1 : 0;
  pods_[slot.index()] = std::move(placed);
  position = std::min(position, node.pods.size());
  node.pods.insert(node.pods.begin() + static_cast<std::ptrdiff_t>(position), slot);
  account(node, slot, pods_[slot.index()].pod, 1);
  take_gpus(node, slot);
  return slot;
}

std::pair<PlacedPod, std::size_t> ClusterState::displace(PodSlot slot) {
  NodeInfo& node = nodes_[pods_[slot.index()].node.index()];
  release_gpus(node, slot);
  const auto it = std::ranges::find(node.pods, slot);
  const auto position = static_cast<std::size_t>(it - node.pods.begin());
  node.pods.erase(it);
  PlacedPod placed = std::move(pods_[slot.index()]);
  pods_[slot.index()] = {};
  account(node, slot, placed.pod, -1);
  assumed_ -= placed.assumed ? 1 : 0;
  by_uid_.erase(placed.pod->uid, slot);
  free_slots_.push_back(slot);
  return {std::move(placed), position};
}

} // namespace berth::sched
