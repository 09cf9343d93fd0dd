#include "berth/hardware/collective_model.h"

#include <algorithm>
#include <bit>
#include <map>
#include <vector>

#include "berth/hardware/bandwidth.h"
#include "berth/hardware/min_cut.h"

namespace berth::hardware {

namespace {

constexpr std::int64_t kRingPercent = 97;     // of the links' rate, large messages
constexpr std::int64_t kNetMbpsPerGbit = 115; // 125 MB/s on the wire per Gbit/s
constexpr std::int64_t kHostBridgeNumerator =
    5; // peer traffic through a CPU's root complex gets 5/6 of the lanes
constexpr std::int64_t kHostBridgeDenominator = 6;

std::vector<int> indices(GpuMask gpus) {
  std::vector<int> result;
  for (GpuMask rest = gpus; rest != 0; rest &= rest - 1) {
    result.push_back(std::countr_zero(rest));
  }
  return result;
}

/// The slowest step any ring through these GPUs must take over PCIe.
std::int64_t pcie_ring(const Platform& platform, const std::vector<int>& gpus) {
  const auto& first = platform.gpus[gpus.front()];
  const auto all = [&](auto&& same) {
    return std::ranges::all_of(gpus, [&](int g) { return same(platform.gpus[g]); });
  };
  const std::int64_t lanes = platform.gpu_model.pcie_mbps;
  const int top = platform.top_switch(first.pcie_switch);
  if (top >= 0 && all([&](const Gpu& g) { return platform.top_switch(g.pcie_switch) == top; })) {
    return lanes;
  }
  const std::int64_t over_host = lanes * kHostBridgeNumerator / kHostBridgeDenominator;
  if (all([&](const Gpu& g) {
        return platform.socket_of(g.numa) == platform.socket_of(first.numa);
      })) {
    return over_host;
  }
  return std::min<std::int64_t>(over_host, platform.inter_socket_mbps);
}

/// Direct links: rings of all channels together cross every cut, so the smallest cut bounds them;
/// channels split until the bound is met.
std::int64_t mesh_ring(const Platform& platform, const std::vector<int>& gpus) {
  if (platform.gpu_model.nvlink_links == 0) {
    return 0;
  }
  std::vector<std::vector<std::int64_t>> weights(gpus.size(),
                                                 std::vector<std::int64_t>(gpus.size(), 0));
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    for (std::size_t j = 0; j < gpus.size(); ++j) {
      weights[i][j] = platform.nvlinks[gpus[i]][gpus[j]];
    }
  }
  return min_cut(std::move(weights)) * platform.gpu_model.nvlink_mbps_per_link * kRingPercent / 100;
}

/// NICs a GPU may use, nearest first, by (link, other socket).
int distance(const Platform& platform, int gpu, int nic) {
  const bool same_socket =
      platform.socket_of(platform.gpus[gpu].numa) == platform.socket_of(platform.nics[nic].numa);
  return static_cast<int>(platform.nic_link(gpu, nic)) + (same_socket ? 0 : 1);
}

/// The nearest of the NICs that count, as indices in order.
std::vector<int> nearest_nics(const Platform& platform, int gpu) {
  const bool compute = std::ranges::any_of(platform.nics, [](const Nic& n) { return n.rail >= 0; });
  std::vector<int> nearest;
  int best = 0;
  for (int nic = 0; nic < static_cast<int>(platform.nics.size()); ++nic) {
    if (compute && platform.nics[nic].rail < 0) {
      continue;
    }
    const int d = distance(platform, gpu, nic);
    if (nearest.empty() || d < best) {
      nearest = {nic};
      best = d;
    } else if (d == best) {
      nearest.push_back(nic);
    }
  }
  return nearest;
}

} // namespace

std::int64_t switched_all_reduce(const Platform& platform, int n) {
  if (n < 2) {
    return 0;
  }
  const auto& model = platform.gpu_model;
  const std::int64_t rate = std::int64_t{model.nvlink_links} * model.nvlink_mbps_per_link;
  const std::int64_t ring = rate * kRingPercent / 100;
  if (!platform.nvls) {
    return ring;
  }
  std::int64_t reduced = rate * model.nvls_efficiency_percent / 100 * 2 * (n - 1) / (n + 1);
  if (model.nvls_ceiling_mbps > 0) {
    reduced = std::min<std::int64_t>(reduced, model.nvls_ceiling_mbps);
  }
  return std::max(ring, reduced);
}

std::int64_t model_all_reduce(const Platform& platform, GpuMask mask) {
  const auto gpus = indices(mask);
  if (gpus.size() < 2) {
    return 0;
  }
  if (platform.nvswitch) {
    return switched_all_reduce(platform, static_cast<int>(gpus.size()));
  }
  return std::max(mesh_ring(platform, gpus), pcie_ring(platform, gpus));
}

std::vector<RailGroup> rail_groups(const Platform& platform) {
  std::map<std::vector<int>, GpuMask> gpus_of_nics;
  for (const auto& gpu : platform.gpus) {
    gpus_of_nics[nearest_nics(platform, gpu.index)] |= GpuMask{1} << gpu.index;
  }
  std::vector<RailGroup> groups;
  for (const auto& [nics, gpus] : gpus_of_nics) {
    std::int64_t wire = 0;
    for (const int nic : nics) {
      wire += platform.nics[nic].rail < 0 ? 0 : platform.nics[nic].gbits * kNetMbpsPerGbit;
    }
    if (wire > 0) {
      groups.push_back({.gpus = gpus, .wire_mbps = wire});
    }
  }
  return groups;
}

std::int64_t rails_mbps(const std::vector<RailGroup>& groups, std::int64_t pcie_mbps,
                        GpuMask gpus) {
  std::int64_t total = 0;
  for (const auto& group : groups) {
    total += std::min(group.wire_mbps, std::popcount(gpus & group.gpus) * pcie_mbps);
  }
  return total;
}

int nic_distance(const Platform& platform, int gpu) {
  const auto nics = nearest_nics(platform, gpu);
  return nics.empty() ? 0 : distance(platform, gpu, nics.front());
}

} // namespace berth::hardware
