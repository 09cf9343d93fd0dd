#include "berth/model/requests.h"

#include <algorithm>

namespace berth::model {
namespace {

void add(ResourceList& total, const ResourceList& more) {
  for (const auto& [name, quantity] : more) {
    total[name] += quantity;
  }
}

void raise(ResourceList& most, const ResourceList& candidate) {
  for (const auto& [name, quantity] : candidate) {
    const auto [it, fresh] = most.try_emplace(name, quantity);
    if (!fresh && it->second < quantity) {
      it->second = quantity;
    }
  }
}

/// API defaulting: a limit without a request is the request.
ResourceList requests_of(const ResourceRequirements& resources) {
  ResourceList out = resources.requests;
  out.insert(resources.limits.begin(), resources.limits.end());
  return out;
}

bool is_pod_level(std::string_view name) {
  return name == "cpu" || name == "memory" || name.starts_with("hugepages-");
}

/// Pod-level requests decide their resources; a pod-level limit decides what no container asks for
/// (API defaulting).
void apply_pod_level(ResourceList& total, const ResourceRequirements& pod_level) {
  for (const auto& [name, limit] : pod_level.limits) {
    if (is_pod_level(name)) {
      total.try_emplace(name, limit);
    }
  }
  for (const auto& [name, request] : pod_level.requests) {
    if (is_pod_level(name)) {
      total.insert_or_assign(name, request);
    }
  }
}

enum class Phases { All, Running };

/// spec 3.3 with `of` giving one container's request.
template <class Of>
ResourceList aggregate(const PodSpec& spec, Of of, Phases phases = Phases::All) {
  ResourceList app;
  for (const Container& container : spec.containers) {
    add(app, of(container));
  }
  ResourceList sidecars;
  ResourceList init;
  for (const Container& container : spec.init_containers) {
    ResourceList phase = of(container);
    if (container.restart_policy == "Always") {
      add(sidecars, phase);
      raise(init, sidecars);
    } else {
      add(phase, sidecars);
      raise(init, phase);
    }
  }
  add(app, sidecars);
  if (phases == Phases::All) {
    raise(app, init);
  }
  if (spec.resources) {
    apply_pod_level(app, *spec.resources);
  }
  add(app, spec.overhead);
  return app;
}

} // namespace

ResourceList effective_requests(const PodSpec& spec) {
  return aggregate(spec,
                   [](const Container& container) { return requests_of(container.resources); });
}

ResourceList running_requests(const PodSpec& spec) {
  return aggregate(
      spec, [](const Container& container) { return requests_of(container.resources); },
      Phases::Running);
}

ResourceList nonzero_requests(const PodSpec& spec) {
  static constexpr std::int64_t kMilliCpu = 100;
  static constexpr std::int64_t kMemory = 200LL * 1024 * 1024;
  const auto at_pod_level = [&](std::string_view name) {
    return spec.resources &&
           (spec.resources->requests.contains(name) || spec.resources->limits.contains(name));
  };
  return aggregate(spec, [&](const Container& container) {
    ResourceList out = requests_of(container.resources);
    if (!at_pod_level("cpu")) {
      out.try_emplace("cpu", api::Quantity::from_milli(kMilliCpu));
    }
    if (!at_pod_level("memory")) {
      out.try_emplace("memory", api::Quantity::from_int(kMemory, api::Quantity::Format::BinarySI));
    }
    return out;
  });
}

std::int64_t gpu_request(const PodSpec& spec) {
  const ResourceList requests = effective_requests(spec);
  const auto it = requests.find(kGpuResource);
  return it == requests.end() ? 0 : it->second.value();
}

std::string_view qos_class(const PodSpec& spec) {
  // Only cpu and memory count; zero is as good as absent.
  bool any = false;
  bool guaranteed = true;
  const auto look = [&](const ResourceRequirements& resources) {
    const ResourceList requests = requests_of(resources);
    for (const std::string_view name : {"cpu", "memory"}) {
      const auto request = requests.find(name);
      const auto limit = resources.limits.find(name);
      const bool requested = request != requests.end() && !request->second.is_zero();
      const bool limited = limit != resources.limits.end() && !limit->second.is_zero();
      any = any || requested || limited;
      guaranteed = guaranteed && requested && limited && request->second == limit->second;
    }
  };
  const bool pod_level =
      spec.resources && (!spec.resources->requests.empty() || !spec.resources->limits.empty());
  if (pod_level) {
    look(*spec.resources);
  } else {
    for (const auto* list : {&spec.containers, &spec.init_containers}) {
      std::for_each(list->begin(), list->end(),
                    [&](const Container& container) { look(container.resources); });
    }
  }
  return !any ? "BestEffort" : (guaranteed ? "Guaranteed" : "Burstable");
}

} // namespace berth::model
