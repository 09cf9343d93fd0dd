// ClusterState as text, for tests ("rolled back equals before") and debugging.
#include "berth/sched/cluster_state.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace berth::sched {
namespace {

void dump_resources(std::string& out, const ResourceNames& names, std::string_view label,
                    const Resources& amounts) {
  fmt::format_to(std::back_inserter(out), " {}=", label);
  for (std::uint32_t i = 0; i < kInlineResources; ++i) {
    fmt::format_to(std::back_inserter(out), "{}{}", i == 0 ? "" : ",", amounts.common()[i]);
  }
  for (const auto& [id, amount] : amounts.others()) {
    fmt::format_to(std::back_inserter(out), ",{}:{}", names.name(id), amount);
  }
}

} // namespace

std::string ClusterState::dump_node(NodeId id) const {
  const NodeInfo& info = node(id);
  std::string out =
      fmt::format("node {} object={}", node_name(id), static_cast<const void*>(info.node.get()));
  dump_resources(out, resources_, "allocatable", info.allocatable);
  dump_resources(out, resources_, "requested", info.requested);
  auto to = std::back_inserter(out);
  fmt::format_to(to, " nonzero={},{} allowed_pods={} affinity={} nominated={}", info.nonzero_cpu,
                 info.nonzero_memory, info.allowed_pods, info.pods_with_affinity, info.nominated);
  fmt::format_to(to, " gpus={:x},{:x},{:x},{} holders=", info.gpus.all, info.gpus.unhealthy,
                 info.gpus.held, info.gpus.unplaced);
  for (std::size_t i = 0; i < kMaxGpus; ++i) {
    if (info.gpus.holder[i].valid()) {
      fmt::format_to(to, "{}:{} ", i, placed(info.gpus.holder[i]).pod->uid);
    }
  }
  fmt::format_to(to, " parts={:x},{:x},{}", info.parts.all, info.gpus.shared, info.parts.unplaced);
  for (std::size_t i = 0; i < kMaxGpus; ++i) {
    if ((info.gpus.shared >> i & 1) != 0) {
      fmt::format_to(to, " {}:{}m,{}", i, info.parts.milli[i], info.parts.memory_taken[i]);
    }
  }
  for (const ResourceSlices& slices : info.slices) {
    fmt::format_to(to, " slices {}:{}", resources_.name(slices.resource), slices.unplaced);
    for (std::size_t i = 0; i < kMaxGpus; ++i) {
      if (slices.there[i] != 0 || slices.taken[i] != 0) {
        fmt::format_to(to, ",{}:{}/{}", i, slices.taken[i], slices.there[i]);
      }
    }
  }
  for (const ResourceId resource : info.one_replica) {
    fmt::format_to(to, " one-replica={}", resources_.name(resource));
  }
  for (const auto& port : info.used_ports) {
    fmt::format_to(to, " port={}/{}/{}", port.ip, port.protocol, port.port);
  }
  for (const ImageId image : info.images) {
    fmt::format_to(to, " image={}", image_names_.name(image));
  }
  for (const PodSlot slot : info.pods) {
    const PlacedPod& pod = placed(slot);
    fmt::format_to(to, "\n  pod {} slot={} object={} gpus={:x} assumed={}", pod.pod->uid,
                   slot.index(), static_cast<const void*>(pod.pod.get()), pod.gpus, pod.assumed);
  }
  for (const PodPtr& pod : nominated_to(id)) {
    fmt::format_to(to, "\n  nominated {}", pod->uid);
  }
  return out + "\n";
}

std::string ClusterState::dump() const {
  std::string out = "order";
  for (const NodeId id : order_) {
    out += " " + node_name(id);
  }
  out += "\n";
  for (const NodeInfo& info : nodes_) {
    out += dump_node(info.id);
  }
  auto to = std::back_inserter(out);
  for (const PlacedPod* pod : placed_pods()) {
    fmt::format_to(to, "placed {} on {}\n", pod->pod->uid, node_name(pod->node));
  }
  fmt::format_to(to, "assumed={} nominations={} pods={}\n", assumed_, nominations_.size(),
                 by_uid_.size());
  for (const TermsId id : terms_.present()) {
    fmt::format_to(to, "terms {}\n", id.index());
  }
  for (const Image& image : images_) {
    fmt::format_to(to, "image {} of {} on {}\n", image_names_.name(image.id), image.size,
                   image.nodes);
  }
  for (const auto& [key, budget] : budgets_) {
    fmt::format_to(to, "budget {} {}\n", key.to_string(), static_cast<const void*>(budget.get()));
  }
  for (const auto& [name, labels] : namespaces_) {
    fmt::format_to(to, "namespace {} {} labels\n", name, labels.size());
  }
  out += storage_.dump();
  out += quotas_.dump(resources_);
  return out;
}

} // namespace berth::sched
