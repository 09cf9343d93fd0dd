#include "berth/deviceplugin/shared_preference.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

namespace berth::deviceplugin {
namespace {

struct Gpu {
  int index = 0;
  int taken = 0;  ///< devices that are not free, and those picked
  int picked = 0; ///< by this request, what it must include too
  std::deque<std::string> free;
};

std::tuple<int, int, int> rank(AllocationPolicy policy, const Gpu& gpu) {
  switch (policy) {
  case AllocationPolicy::Distributed:
    return {gpu.taken, gpu.picked, gpu.index};
  case AllocationPolicy::Packed:
    return {-gpu.taken, gpu.picked, gpu.index};
  case AllocationPolicy::Spread:
    return {gpu.picked, gpu.taken, gpu.index};
  }
  return {};
}

Result<void> check(const PlannedResource& resource, const PreferredAllocationRequest& request) {
  std::set<std::string_view> known;
  for (const PluginDevice& device : resource.devices) {
    known.insert(device.id);
  }
  for (const std::vector<std::string>* ids : {&request.available, &request.must_include}) {
    for (const std::string& id : *ids) {
      if (!known.contains(id)) {
        return fail(Code::Invalid, fmt::format("invalid request: unknown device: {}", id));
      }
    }
  }
  return {};
}

std::vector<Gpu> gpus_of(const PlannedResource& resource, const std::set<std::string>& available,
                         const std::set<std::string>& required) {
  std::map<int, Gpu> gpus;
  for (const PluginDevice& device : resource.devices) {
    Gpu& gpu = gpus[device.gpu];
    gpu.index = device.gpu;
    const bool must = required.contains(device.id);
    gpu.picked += must ? 1 : 0;
    if (!must && available.contains(device.id)) {
      gpu.free.push_back(device.id);
    } else {
      ++gpu.taken;
    }
  }
  std::vector<Gpu> out;
  for (auto& [index, gpu] : gpus) {
    if (!gpu.free.empty()) {
      out.push_back(std::move(gpu));
    }
  }
  return out;
}

} // namespace

Result<std::vector<std::string>> preferred_shared(const PlannedResource& resource,
                                                  AllocationPolicy policy,
                                                  const PreferredAllocationRequest& request) {
  BERTH_CHECK(check(resource, request));
  const std::set<std::string> required(request.must_include.begin(), request.must_include.end());
  const auto size = static_cast<std::size_t>(std::max(request.allocation_size, 0));
  std::vector<Gpu> gpus =
      gpus_of(resource, {request.available.begin(), request.available.end()}, required);
  std::vector<std::string> ids(required.begin(), required.end());
  if (ids.size() > size) {
    return fail(Code::Invalid, fmt::format("invalid request: cannot choose devices: required {}, "
                                           "asked {}",
                                           ids.size(), size));
  }
  while (ids.size() < size) {
    const auto best =
        std::ranges::min_element(gpus, {}, [&](const Gpu& gpu) { return rank(policy, gpu); });
    if (best == gpus.end()) {
      return fail(Code::Invalid, "not enough available devices to satisfy allocation");
    }
    ids.push_back(std::move(best->free.front()));
    best->free.pop_front();
    ++best->taken;
    ++best->picked;
    if (best->free.empty()) {
      gpus.erase(best);
    }
  }
  return ids;
}

} // namespace berth::deviceplugin
