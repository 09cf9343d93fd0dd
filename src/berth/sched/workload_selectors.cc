#include "berth/sched/workload_selectors.h"

#include <algorithm>

namespace berth::sched {
namespace {

/// Each requirement once: several Services may ask for the same label.
void add_requirements(api::Selector& to, const api::Selector& more) {
  for (const api::Requirement& requirement : more.requirements) {
    if (std::ranges::find(to.requirements, requirement) == to.requirements.end()) {
      to.requirements.push_back(requirement);
    }
  }
}

bool is_read(std::string_view api_version, std::string_view kind) {
  return kind == "ReplicationController"
             ? api_version == "v1"
             : api_version == "apps/v1" && (kind == "ReplicaSet" || kind == "StatefulSet");
}

} // namespace

void WorkloadSelectors::set_service(PodSelectorPtr service) {
  ByName& services = services_[service->meta.ns];
  std::string name = service->meta.name;
  services.insert_or_assign(std::move(name), std::move(service));
}

void WorkloadSelectors::remove_service(const api::Key& key) {
  const auto it = services_.find(key.ns);
  if (it != services_.end() && it->second.erase(key.name) > 0 && it->second.empty()) {
    services_.erase(it);
  }
}

void WorkloadSelectors::set_controller(std::string_view kind, PodSelectorPtr controller) {
  const api::Key key{controller->meta.ns, controller->meta.name};
  controllers_.insert_or_assign({std::string(kind), key}, std::move(controller));
}

void WorkloadSelectors::remove_controller(std::string_view kind, const api::Key& key) {
  controllers_.erase({std::string(kind), key});
}

api::Selector WorkloadSelectors::selector_of(const model::Pod& pod) const {
  api::Selector out;
  if (const auto here = services_.find(pod.meta.ns); here != services_.end()) {
    for (const auto& [name, service] : here->second) {
      if (service->selector && service->selector->matches(pod.meta.labels)) {
        add_requirements(out, *service->selector);
      }
    }
  }
  const api::OwnerReference* owner = pod.meta.controller();
  if (owner != nullptr && is_read(owner->api_version, owner->kind)) {
    const auto it = controllers_.find({owner->kind, api::Key{pod.meta.ns, owner->name}});
    if (it != controllers_.end() && it->second->selector) {
      add_requirements(out, *it->second->selector);
    }
  }
  return out;
}

} // namespace berth::sched
