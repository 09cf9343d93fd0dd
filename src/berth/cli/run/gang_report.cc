#include "berth/cli/run/gang_report.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "berth/hardware/bandwidth.h"
#include "berth/model/gpu_units.h"
#include "berth/model/workload.h"

namespace berth::cli {
namespace {

using Members = std::vector<const Holding*>;

// The first moment at which most members hold a node.
Members most_at_once(const Members& members) {
  Members most;
  for (const Holding* first : members) {
    Members now;
    std::ranges::copy_if(members, std::back_inserter(now),
                         [&](const Holding* h) { return h->at(first->from); });
    if (now.size() > most.size()) {
      most = std::move(now);
    }
  }
  return most;
}

// One part a node: members on the same node share it.
std::int64_t bandwidth_of(const Members& placed, const Observer& observer,
                          const cluster::Cluster& cluster) {
  std::map<std::string, hardware::GpuMask> by_node;
  for (const Holding* holding : placed) {
    for (const int gpu : holding->gpus) {
      by_node[holding->node] |= gpu < model::kMaxGpus ? hardware::GpuMask{1} << gpu : 0;
    }
  }
  std::vector<hardware::NodePart> parts;
  for (const auto& [node, gpus] : by_node) {
    const hardware::Platform* platform = cluster.platform_of(node);
    const auto history = observer.nodes().find(node);
    if (platform == nullptr || gpus == 0) {
      return 0; // a part that cannot be predicted
    }
    std::string_view domain;
    if (history != observer.nodes().end()) {
      const auto& labels = history->second.last.meta().labels;
      const auto clique = labels.find("nvidia.com/gpu.clique");
      domain = clique == labels.end() ? std::string_view() : std::string_view(clique->second);
    }
    parts.push_back({.platform = platform, .gpus = gpus, .nvlink_domain = domain});
  }
  return hardware::group_all_reduce_mbps(parts);
}

// From the first member's creation until the group had as many as it needs, or until the end.
Duration waited(const Members& placed, const std::vector<TimePoint>& created,
                std::int64_t min_member, TimePoint end) {
  if (created.empty()) {
    return {};
  }
  std::vector<TimePoint> bound;
  for (const Holding* holding : placed) {
    bound.push_back(holding->from);
  }
  std::ranges::sort(bound);
  const auto needed = static_cast<std::size_t>(std::max<std::int64_t>(min_member, 1));
  const TimePoint ready = bound.size() >= needed ? bound[needed - 1] : end;
  return std::max(Duration(), ready - *std::ranges::min_element(created));
}

} // namespace

std::vector<report::GangLine> gang_lines(const Observer& observer,
                                         const std::vector<Holding>& holdings,
                                         const cluster::Cluster& cluster, TimePoint end) {
  std::map<std::string, Members> members;
  for (const Holding& holding : holdings) {
    if (!holding.gang.empty()) {
      members[holding.gang].push_back(&holding);
    }
  }
  std::map<std::string, std::vector<TimePoint>> created;
  for (const auto& walk : observer.record().pods()) {
    const auto pod = model::pod_view(walk->last);
    if (pod && !(*pod)->pod_group().empty()) {
      created[walk->key.ns + "/" + std::string((*pod)->pod_group())].push_back(
          walk->history.front().second);
    }
  }
  std::vector<report::GangLine> out;
  for (const auto& [uid, object] : observer.gangs()) {
    const auto group = model::pod_group_view(object);
    if (!group) {
      continue;
    }
    const std::string key = object.key().to_string();
    const Members placed = most_at_once(members[key]);
    report::GangLine line{.ns = object.meta().ns,
                          .name = object.meta().name,
                          .phase = (*group)->phase.empty() ? "Pending" : (*group)->phase,
                          .min_member = (*group)->min_member,
                          .members = static_cast<std::int64_t>(created[key].size()),
                          .placed = static_cast<std::int64_t>(placed.size()),
                          .nodes = {},
                          .gpus = 0,
                          .all_reduce_mbps = bandwidth_of(placed, observer, cluster),
                          .waiting = waited(placed, created[key], (*group)->min_member, end)};
    std::set<std::string> nodes;
    for (const Holding* holding : placed) {
      nodes.insert(holding->node);
      line.gpus += static_cast<std::int64_t>(holding->gpus.size());
    }
    line.nodes.assign(nodes.begin(), nodes.end());
    std::ranges::sort(line.nodes, natural_less);
    out.push_back(std::move(line));
  }
  std::ranges::sort(out, {}, [](const report::GangLine& g) { return std::pair(g.ns, g.name); });
  return out;
}

} // namespace berth::cli
