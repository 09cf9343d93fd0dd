#include "berth/topology/pod_ask.h"

#include <limits>
#include <set>
#include <utility>

#include "berth/model/requests.h"

namespace berth::topology {
namespace {

// A limit without a request is the request.
const api::Quantity* request_of(const model::Container& container, const std::string& resource) {
  const auto request = container.resources.requests.find(resource);
  if (request != container.resources.requests.end()) {
    return &request->second;
  }
  const auto limit = container.resources.limits.find(resource);
  return limit == container.resources.limits.end() ? nullptr : &limit->second;
}

int whole_cpus(const model::Container& container) {
  constexpr std::int64_t kMilli = 1000;
  const api::Quantity* cpu = request_of(container, "cpu");
  if (!cpu || cpu->sign() <= 0 || cpu->milli_value() % kMilli != 0 ||
      cpu->value() > std::numeric_limits<int>::max()) {
    return 0;
  }
  return static_cast<int>(cpu->value());
}

MemoryAmounts memory_of(const model::Container& container) {
  MemoryAmounts amounts;
  for (const model::ResourceList* list :
       {&container.resources.requests, &container.resources.limits}) {
    for (const auto& [resource, quantity] : *list) {
      if (resource == "memory" || resource.starts_with("hugepages-")) {
        if (const std::int64_t bytes = request_of(container, resource)->value(); bytes > 0) {
          amounts[resource] = bytes;
        }
      }
    }
  }
  return amounts;
}

} // namespace

const ContainerAsk* PodAsk::find(std::string_view container) const {
  const auto it = std::ranges::find(containers, container, &ContainerAsk::name);
  return it == containers.end() ? nullptr : &*it;
}

bool PodAsk::runs_beside(std::string_view one, std::string_view other) const {
  const ContainerAsk* first = find(one);
  const ContainerAsk* second = find(other);
  if (!first || !second) {
    return true;
  }
  if (second < first) {
    std::swap(first, second);
  }
  switch (second->phase) {
  case ContainerAsk::Phase::Init:
    return first->phase == ContainerAsk::Phase::Sidecar;
  case ContainerAsk::Phase::Sidecar:
  case ContainerAsk::Phase::App:
    return first->phase != ContainerAsk::Phase::Init;
  }
  return true;
}

PodAsk ask_of(const model::Pod& pod) {
  const bool guaranteed = model::qos_class(pod.spec) == "Guaranteed";
  PodAsk ask{.pod_uid = pod.meta.uid, .containers = {}};
  const auto add = [&](const model::Container& container, ContainerAsk::Phase phase) {
    ask.containers.push_back({.name = container.name,
                              .phase = phase,
                              .cpus = guaranteed ? whole_cpus(container) : 0,
                              .memory = guaranteed ? memory_of(container) : MemoryAmounts()});
  };
  for (const model::Container& container : pod.spec.init_containers) {
    add(container, container.restart_policy == "Always" ? ContainerAsk::Phase::Sidecar
                                                        : ContainerAsk::Phase::Init);
  }
  for (const model::Container& container : pod.spec.containers) {
    add(container, ContainerAsk::Phase::App);
  }
  return ask;
}

std::int64_t pod_cpus(const PodAsk& ask) {
  return pod_total(ask, [](const ContainerAsk& each) { return std::int64_t{each.cpus}; });
}

MemoryAmounts pod_memory(const PodAsk& ask) {
  std::set<std::string> resources;
  for (const ContainerAsk& each : ask.containers) {
    for (const auto& [resource, bytes] : each.memory) {
      resources.insert(resource);
    }
  }
  MemoryAmounts amounts;
  for (const std::string& resource : resources) {
    amounts[resource] = pod_total(ask, [&](const ContainerAsk& each) {
      const auto it = each.memory.find(resource);
      return it == each.memory.end() ? std::int64_t{0} : it->second;
    });
  }
  return amounts;
}

} // namespace berth::topology
