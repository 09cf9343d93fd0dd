#include "berth/node/resource_check.h"

#include <algorithm>
#include <cstdint>
#include <map>

#include <fmt/format.h>

#include "berth/model/requests.h"
#include "berth/node/plugin_endpoints.h"

namespace berth::node {
namespace {

std::int64_t amount(std::string_view resource, const api::Quantity& quantity) {
  return resource == "cpu" ? quantity.milli_value() : quantity.value();
}

int rank(std::string_view resource) {
  constexpr std::string_view kFirst[] = {"pods", "cpu", "memory", "ephemeral-storage"};
  const auto* it = std::ranges::find(kFirst, resource);
  return static_cast<int>(it - std::begin(kFirst));
}

} // namespace

std::optional<Shortage> find_shortage(const model::Pod& pod, const model::ResourceList& allocatable,
                                      const std::vector<Occupant>& others,
                                      const std::function<bool(std::string_view)>& skip) {
  std::map<std::string, std::int64_t> used;
  for (const Occupant& other : others) {
    used["pods"] += 1;
    const model::ResourceList whole = model::effective_requests(other.pod->spec);
    const model::ResourceList running =
        other.init_over ? model::running_requests(other.pod->spec) : model::ResourceList();
    for (const auto& [resource, quantity] : whole) {
      const bool released = other.init_over && is_extended_resource(resource);
      const auto left = running.find(resource);
      if (!released) {
        used[resource] += amount(resource, quantity);
      } else if (left != running.end()) {
        used[resource] += amount(resource, left->second);
      }
    }
  }
  std::vector<std::pair<std::string, std::int64_t>> asked{{"pods", 1}};
  for (const auto& [resource, quantity] : model::effective_requests(pod.spec)) {
    asked.emplace_back(resource, amount(resource, quantity));
  }
  std::ranges::stable_sort(asked, {}, [](const auto& each) { return rank(each.first); });
  for (const auto& [resource, count] : asked) {
    const auto capacity = allocatable.find(resource);
    if (count == 0 || capacity == allocatable.end() || skip(resource)) {
      continue;
    }
    const std::int64_t has = amount(resource, capacity->second);
    if (used[resource] + count > has) {
      return Shortage{
          "OutOf" + resource,
          fmt::format("Node didn't have enough resource: {}, requested: {}, used: {}, capacity: {}",
                      resource, count, used[resource], has)};
    }
  }
  return std::nullopt;
}

} // namespace berth::node
