#include "berth/gang/alike_nodes.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

namespace berth::gang {
namespace {

constexpr std::string_view kHostname = "kubernetes.io/hostname";

/// Does the pod bring what other nodes may not be able to take, whatever they look like?
bool tied_to_places(const model::PodSpec& spec) {
  return !spec.volumes.empty();
}

/// Does the pod speak of nodes by name, perhaps?
bool names_nodes(const model::PodSpec& spec) {
  return spec.node_selector.contains(std::string(kHostname)) ||
         (spec.node_affinity && spec.node_affinity->required);
}

/// What filters can see of the node but its name.
std::string describe(const sched::NodeInfo& node, std::span<const MemberClass> classes) {
  std::string text;
  const auto out = std::back_inserter(text);
  for (const sched::Resources* resources : {&node.allocatable, &node.requested}) {
    for (const std::int64_t amount : resources->common()) {
      fmt::format_to(out, "{},", amount);
    }
    for (const auto& [id, amount] : resources->others()) {
      fmt::format_to(out, "{}={},", id.index(), amount);
    }
    text += ';';
  }
  fmt::format_to(out, "{},{};{:p};{:x},{:x},{:x},{:x},{};", node.allowed_pods, node.pods.size(),
                 static_cast<const void*>(node.platform), node.gpus.all, node.gpus.unhealthy,
                 node.gpus.held, node.gpus.shared, node.gpus.unplaced);
  for (std::size_t gpu = 0; node.parts.all != 0 && gpu < node.parts.milli.size(); ++gpu) {
    fmt::format_to(out, "{}/{},", node.parts.milli[gpu], node.parts.memory_taken[gpu]);
  }
  fmt::format_to(out, "{:x},{},{},{},{};", node.parts.all, node.parts.unplaced, node.parts.memory,
                 node.parts.memory_unit, node.parts.all != 0 ? node.parts.model.index() : 0);
  for (const sched::HostPort& port : node.used_ports) {
    fmt::format_to(out, "{}/{}:{},", port.protocol, port.ip, port.port);
  }
  for (const MemberClass& one : classes) {
    fmt::format_to(out, ";{}", one.slots(node.id));
  }
  return text;
}

} // namespace

AlikeNodes::AlikeNodes(const sched::ClusterState& state, const SpreadLevels& levels,
                       std::span<const sched::NodeId> nodes, std::span<const MemberClass> classes)
    : kinds_(state.node_slots(), 0) {
  const auto pod = [](const MemberClass& one) -> const model::PodSpec& {
    return one.pods().front()->pod->spec;
  };
  const bool unique = std::ranges::any_of(classes, [&](const MemberClass& one) {
    return tied_to_places(pod(one)) || (!one.counted() && names_nodes(pod(one)));
  });
  const bool rules = std::ranges::any_of(classes, [](const MemberClass& one) {
    return !one.counted(); // then labels are domains, and pods there may matter
  });
  std::unordered_map<std::string, std::uint32_t> known;
  for (const sched::NodeId id : nodes) {
    const sched::NodeInfo& node = state.node(id);
    std::string text;
    if (unique || node.nominated > 0 || state.reports(id).numa != nullptr ||
        (rules && !node.pods.empty())) {
      text = fmt::format("node {}", id.index());
    } else {
      text = describe(node, classes);
      for (const auto& [key, value] : rules ? node.labels() : api::Labels()) {
        text += key == kHostname ? std::string() : fmt::format(";{}={}", key, value);
      }
    }
    kinds_[id.index()] =
        known.try_emplace(std::move(text), static_cast<std::uint32_t>(known.size() + 1))
            .first->second;
  }
  unit_kinds_.resize(levels.depth());
  for (std::size_t level = levels.depth(); level > 0; --level) {
    // Of each node its kind, and the kinds of the units it is in below.
    std::vector<std::vector<std::vector<std::uint32_t>>> members(levels.units(level - 1));
    for (const sched::NodeId node : nodes) {
      std::vector<std::uint32_t> kinds = {kinds_[node.index()]};
      for (std::size_t below = level; below < levels.depth(); ++below) {
        kinds.push_back(unit_kinds_[below][levels.unit(below, node)]);
      }
      members[levels.unit(level - 1, node)].push_back(std::move(kinds));
    }
    std::map<std::vector<std::vector<std::uint32_t>>, std::uint32_t> kinds;
    for (auto& contents : members) {
      std::ranges::sort(contents);
      unit_kinds_[level - 1].push_back(
          kinds.try_emplace(contents, static_cast<std::uint32_t>(kinds.size())).first->second);
    }
  }
}

} // namespace berth::gang
