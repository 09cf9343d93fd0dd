#include "berth/cli/gpu_sharers.h"

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "berth/node/gpu_devices.h"

namespace berth::cli {
namespace {

/// "1g.10gb" of "nvidia.com/mig-1g.10gb"; "MIG" where the resource does not say.
std::string_view profile_of(std::string_view resource) {
  constexpr std::string_view kMig = "nvidia.com/mig-";
  return resource.starts_with(kMig) ? resource.substr(kMig.size()) : "MIG";
}

std::string share_of(const node::GpuPart& part) {
  constexpr std::int64_t kMiB = std::int64_t{1} << 20;
  const std::string amount =
      part.milli > 0 ? fmt::format("{}m", part.milli) : fmt::format("{}Mi", part.memory / kMiB);
  return part.cores > 0 ? fmt::format("{} {}%", amount, part.cores) : amount;
}

std::string share_of(const node::Holding& holding, std::int64_t count, bool replicas) {
  if (replicas) {
    return fmt::format("{} replica{}", count, count == 1 ? "" : "s");
  }
  return fmt::format("{}{}", count == 1 ? "" : fmt::format("{}x", count),
                     profile_of(holding.resource));
}

} // namespace

std::map<int, std::vector<server::GpuSharer>>
gpu_sharers(const std::vector<node::Holding>& holdings, const inventory::Inventory& inventory) {
  std::map<int, std::vector<server::GpuSharer>> sharers;
  node::GpuDevices places(&inventory);
  for (const node::Holding& holding : holdings) {
    std::map<int, std::int64_t> count; // by GPU
    std::map<int, node::GpuPart> parts;
    bool replicas = false;
    for (const std::string& id : holding.ids()) {
      const bool is_replica = node::without_replica(id) != id;
      const bool whole = !holding.part && !is_replica && id.starts_with("GPU-");
      if (const auto gpu = whole ? std::nullopt : places.gpu_of(id)) {
        ++count[*gpu];
        if (holding.part) {
          parts.emplace(*gpu, holding.part->of(id));
        }
      }
      replicas = replicas || is_replica;
    }
    for (const auto& [gpu, devices] : count) {
      sharers[gpu].push_back({.pod_uid = holding.pod_uid,
                              .container = holding.container,
                              .what = parts.contains(gpu) ? share_of(parts.at(gpu))
                                                          : share_of(holding, devices, replicas)});
    }
  }
  return sharers;
}

} // namespace berth::cli
