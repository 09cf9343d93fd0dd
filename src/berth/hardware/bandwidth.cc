#include "berth/hardware/bandwidth.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/hardware/collective_model.h"
#include "berth/hardware/placement_table.h"

namespace berth::hardware {

namespace {

/// Parts that reach each other over NVLink: one node, or the nodes of one NVLink domain.
struct Island {
  std::vector<const NodePart*> parts;
  int gpus = 0;
};

/// Nodes without a domain, and domains that claim more GPUs than they have, stand alone.
std::vector<Island> islands_of(std::span<const NodePart> parts) {
  std::map<std::string_view, int> gpus_of_domain;
  for (const auto& part : parts) {
    gpus_of_domain[part.nvlink_domain] += std::popcount(part.gpus);
  }
  std::map<std::pair<std::string_view, std::size_t>, Island> islands;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto& part = parts[i];
    if (part.gpus == 0) {
      continue;
    }
    const bool shared = !part.nvlink_domain.empty() &&
                        gpus_of_domain[part.nvlink_domain] <= part.platform->nvlink_domain_gpus;
    auto& island = islands[{part.nvlink_domain, shared ? 0 : i + 1}];
    island.parts.push_back(&part);
    island.gpus += std::popcount(part.gpus);
  }
  std::vector<Island> result;
  for (auto& entry : islands) {
    result.push_back(std::move(entry.second));
  }
  return result;
}

/// All-reduce among an island's own GPUs.
std::int64_t inside_mbps(const Island& island) {
  if (island.parts.size() == 1) {
    return all_reduce_mbps(*island.parts.front()->platform, island.parts.front()->gpus);
  }
  std::int64_t slowest = INT64_MAX;
  for (const auto* part : island.parts) {
    slowest = std::min(slowest, switched_all_reduce(*part->platform, island.gpus));
  }
  return slowest;
}

/// What an island contributes to a ring through several.
std::int64_t outside_mbps(const Island& island) {
  std::int64_t rails = 0;
  for (const auto* part : island.parts) {
    rails += part->platform->table->rails(part->gpus);
  }
  return island.gpus > 1 ? std::min(rails, inside_mbps(island)) : rails;
}

} // namespace

std::int64_t pair_mbps(const Platform& platform, int a, int b) {
  if (a == b) {
    return 0;
  }
  if (const auto links = platform.nvlinks[a][b]; links > 0) {
    return std::int64_t{links} * platform.gpu_model.nvlink_mbps_per_link;
  }
  // Without NVLink the ring of two is the path between the two.
  return all_reduce_mbps(platform, (GpuMask{1} << a) | (GpuMask{1} << b));
}

std::int64_t all_reduce_mbps(const Platform& platform, GpuMask gpus) {
  return platform.table->all_reduce(gpus);
}

std::int64_t group_all_reduce_mbps(std::span<const NodePart> parts) {
  const auto islands = islands_of(parts);
  if (islands.empty()) {
    return 0;
  }
  if (islands.size() == 1) {
    return inside_mbps(islands.front());
  }
  std::int64_t slowest = INT64_MAX;
  for (const auto& island : islands) {
    slowest = std::min(slowest, outside_mbps(island));
  }
  return slowest;
}

} // namespace berth::hardware
