#include "berth/sched/node_reports.h"

#include <algorithm>
#include <charconv>

namespace berth::sched {
namespace {

constexpr int kMostZones = 64;
/// Amounts and distances beyond these are as good as these; sums and percentages of them fit.
constexpr std::int64_t kMostAmount = std::int64_t{1} << 56;
constexpr std::int64_t kMostCost = std::int64_t{1} << 30;

std::optional<int> zone_id(std::string_view name) {
  constexpr std::string_view kPrefix = "node-";
  if (!name.starts_with(kPrefix)) {
    return std::nullopt;
  }
  name.remove_prefix(kPrefix.size());
  int id = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), id);
  const bool whole = error == std::errc() && end == name.data() + name.size();
  return whole && id >= 0 && id < kMostZones ? std::optional(id) : std::nullopt;
}

NumaZone numa_zone(int id, const model::NodeResourceTopology::Zone& zone, ResourceNames& names) {
  NumaZone out{.id = id, .available = {}, .costs = {}};
  std::map<ResourceId, std::int64_t> available;
  for (const auto& resource : zone.resources) {
    available.insert_or_assign(
        names.intern(resource.name),
        std::clamp<std::int64_t>(amount_of(resource.name, resource.available), 0, kMostAmount));
  }
  out.available.assign(available.begin(), available.end());
  for (const auto& cost : zone.costs) {
    if (const auto other = zone_id(cost.name)) {
      out.costs.insert_or_assign(*other, std::clamp<std::int64_t>(cost.value, 0, kMostCost));
    }
  }
  return out;
}

/// The deprecated form: "SingleNUMANodePodLevel", "RestrictedContainerLevel", ...
void apply_policy(std::string_view policy, NumaReport& out) {
  out.single_numa_node = policy.starts_with("SingleNUMANode");
  out.scope = policy.ends_with("PodLevel") ? NumaScope::Pod : NumaScope::Container;
}

std::string_view attribute(const model::NodeResourceTopology& object, std::string_view name) {
  const auto it = object.attributes.find(name);
  return it == object.attributes.end() ? std::string_view() : std::string_view(it->second);
}

double percent(std::int64_t part, std::int64_t whole) {
  return whole <= 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

std::optional<Utilisation> usage_of(const model::NodeMetrics& object,
                                    const model::ResourceList& capacity, std::string_view name) {
  const auto used = object.usage.find(name);
  const auto whole = capacity.find(name);
  if (used == object.usage.end() || whole == capacity.end()) {
    return std::nullopt;
  }
  return Utilisation{.average =
                         percent(amount_of(name, used->second), amount_of(name, whole->second)),
                     .deviation = 0};
}

/// An average goes before the latest value, wherever it stands in the list.
void read_metrics(const model::NodeMetrics& object, std::string_view type,
                  std::optional<Utilisation>& out) {
  bool averaged = false;
  for (const auto& metric : object.metrics) {
    if (metric.type != type) {
      continue;
    }
    Utilisation& into = out ? *out : out.emplace();
    if (metric.op == "STD") {
      into.deviation = metric.value;
    } else if (metric.op == "AVG") {
      into.average = metric.value;
      averaged = true;
    } else if (!averaged && (metric.op.empty() || metric.op == "Latest")) {
      into.average = metric.value;
    }
  }
}

} // namespace

const std::int64_t* find_amount(const KnownAmounts& amounts, ResourceId id) {
  const auto it =
      std::ranges::lower_bound(amounts, id, {}, &std::pair<ResourceId, std::int64_t>::first);
  return it != amounts.end() && it->first == id ? &it->second : nullptr;
}

NumaReport numa_report(const model::NodeResourceTopology& object, ResourceNames& names) {
  NumaReport out;
  if (!object.topology_policies.empty()) {
    apply_policy(object.topology_policies.front(), out);
  }
  if (const auto policy = attribute(object, "topologyManagerPolicy"); !policy.empty()) {
    out.single_numa_node = policy == "single-numa-node";
  }
  if (const auto scope = attribute(object, "topologyManagerScope"); !scope.empty()) {
    out.scope = scope == "pod" ? NumaScope::Pod : NumaScope::Container;
  }
  out.fingerprint = attribute(object, "nodeTopologyPodsFingerprint");
  if (attribute(object, "nodeTopologyPodsFingerprintMethod") == "with-exclusive-resources") {
    out.fingerprint_of = FingerprintOf::PodsWithExclusiveResources;
  }
  for (const auto& zone : object.zones) {
    if (const auto id = zone_id(zone.name); id && zone.type == "Node") {
      out.zones.push_back(numa_zone(*id, zone, names));
    }
  }
  std::ranges::stable_sort(out.zones, {}, &NumaZone::id);
  const auto repeats = std::ranges::unique(out.zones, {}, &NumaZone::id);
  out.zones.erase(repeats.begin(), repeats.end());
  return out;
}

NodeLoad node_load(const model::NodeMetrics& object, const model::ResourceList& capacity) {
  NodeLoad out{.cpu = usage_of(object, capacity, "cpu"),
               .memory = usage_of(object, capacity, "memory"),
               .gpu = std::nullopt,
               .until = object.timestamp};
  read_metrics(object, "CPU", out.cpu);
  read_metrics(object, "Memory", out.memory);
  read_metrics(object, "GPU", out.gpu);
  return out;
}

} // namespace berth::sched
