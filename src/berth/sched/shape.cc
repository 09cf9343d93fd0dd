#include "berth/sched/shape.h"

#include <algorithm>
#include <functional>
#include <string_view>

namespace berth::sched {
namespace {

class Hash {
 public:
  template <class T> void add(const T& value) {
    seed_ ^= std::hash<T>()(value) + 0x9e3779b97f4a7c15ULL + (seed_ << 6) + (seed_ >> 2);
  }
  std::size_t value() const { return seed_; }

 private:
  std::size_t seed_ = 0;
};

void add(Hash& hash, const std::vector<api::Requirement>& requirements) {
  for (const api::Requirement& requirement : requirements) {
    hash.add(requirement.key);
    for (const std::string& value : requirement.values) {
      hash.add(value);
    }
  }
}

/// Calls visit(key) for the labels that the pod's own terms name.
template <class Visit> void for_each_own_label(const model::PodSpec& spec, const Visit& visit) {
  const auto visit_selector = [&](const std::optional<api::Selector>& selector) {
    if (selector) {
      for (const api::Requirement& requirement : selector->requirements) {
        visit(requirement.key);
      }
    }
  };
  for (const auto* affinity : {&spec.pod_affinity, &spec.pod_anti_affinity}) {
    if (*affinity) {
      for (const auto& term : (*affinity)->required) {
        visit_selector(term.label_selector);
      }
      for (const auto& weighted : (*affinity)->preferred) {
        visit_selector(weighted.term.label_selector);
      }
    }
  }
  for (const auto& constraint : spec.topology_spread_constraints) {
    visit_selector(constraint.label_selector);
    std::ranges::for_each(constraint.match_label_keys, visit);
  }
}

const std::string* label_of(const PodInfo& pod, const std::string& key) {
  const auto it = pod.pod->meta.labels.find(key);
  return it == pod.pod->meta.labels.end() ? nullptr : &it->second;
}

/// Precondition: the terms are the same.
bool same_own_labels(const PodInfo& a, const PodInfo& b) {
  bool same = true;
  for_each_own_label(a.pod->spec, [&](const std::string& key) {
    const std::string* x = label_of(a, key);
    const std::string* y = label_of(b, key);
    same = same && (x == nullptr) == (y == nullptr) && (x == nullptr || *x == *y);
  });
  return same;
}

bool same_terms(const model::PodSpec& a, const model::PodSpec& b) {
  return a.node_selector == b.node_selector && a.node_affinity == b.node_affinity &&
         a.pod_affinity == b.pod_affinity && a.pod_anti_affinity == b.pod_anti_affinity &&
         a.tolerations == b.tolerations &&
         a.topology_spread_constraints == b.topology_spread_constraints;
}

/// Where the pod holds its parts is not part of its shape.
bool same_share(const PodInfo& a, const PodInfo& b) {
  if (a.share == nullptr || b.share == nullptr) {
    return a.share == b.share && a.share_fault == b.share_fault;
  }
  const model::GpuShare& x = *a.share;
  const model::GpuShare& y = *b.share;
  return x.gpus == y.gpus && x.milli == y.milli && x.memory == y.memory &&
         x.memory_units == y.memory_units && x.models == y.models;
}

/// What single containers may hold matters to NUMA zones, and limits to expected load.
bool same_containers(const std::vector<model::Container>& a,
                     const std::vector<model::Container>& b) {
  return std::ranges::equal(a, b, [](const model::Container& x, const model::Container& y) {
    return x.restart_policy == y.restart_policy && x.resources.requests == y.resources.requests &&
           x.resources.limits == y.resources.limits;
  });
}

bool same_resources(const model::PodSpec& a, const model::PodSpec& b) {
  const bool same_pod_level = a.resources.has_value() == b.resources.has_value() &&
                              (!a.resources || (a.resources->requests == b.resources->requests &&
                                                a.resources->limits == b.resources->limits));
  return same_pod_level && a.overhead == b.overhead &&
         same_containers(a.containers, b.containers) &&
         same_containers(a.init_containers, b.init_containers);
}

/// A claim made for one pod must be that pod's own.
bool has_ephemeral(const model::PodSpec& spec) {
  return std::ranges::any_of(spec.volumes, &model::PodVolume::ephemeral);
}

} // namespace

bool same_shape(const PodInfo& a, const PodInfo& b) {
  const model::PodSpec& x = a.pod->spec;
  const model::PodSpec& y = b.pod->spec;
  return a.priority == b.priority && a.requests == b.requests && a.nonzero_cpu == b.nonzero_cpu &&
         a.nonzero_memory == b.nonzero_memory && a.host_ports == b.host_ports &&
         a.images == b.images && same_share(a, b) && a.image_containers == b.image_containers &&
         a.ns() == b.ns() && x.scheduler_name == y.scheduler_name &&
         x.preemption_policy == y.preemption_policy && x.scheduling_gates == y.scheduling_gates &&
         same_terms(x, y) && x.volumes == y.volumes && (!has_ephemeral(x) || a.uid == b.uid) &&
         same_resources(x, y) && same_own_labels(a, b);
}

std::size_t shape_hash(const PodInfo& pod) {
  Hash hash;
  const model::PodSpec& spec = pod.pod->spec;
  hash.add(pod.priority);
  hash.add(pod.ns());
  hash.add(pod.nonzero_cpu);
  hash.add(pod.nonzero_memory);
  for (const auto& [resource, amount] : pod.requests) {
    hash.add(resource);
    hash.add(amount);
  }
  for (const auto& [key, value] : spec.node_selector) {
    hash.add(key);
    hash.add(value);
  }
  for (const auto& image : pod.images) {
    hash.add(image);
  }
  if (pod.share != nullptr) {
    hash.add(pod.share->gpus);
    hash.add(pod.share->milli);
    hash.add(pod.share->memory);
  }
  hash.add(spec.tolerations.size());
  if (spec.node_affinity && spec.node_affinity->required) {
    for (const auto& term : spec.node_affinity->required->terms) {
      add(hash, term.match_expressions);
      add(hash, term.match_fields); // a DaemonSet's pods differ in nothing else
    }
  }
  for (const auto& volume : spec.volumes) {
    hash.add(volume.claim);
  }
  for_each_own_label(spec, [&](const std::string& key) {
    if (const std::string* value = label_of(pod, key)) {
      hash.add(key);
      hash.add(*value);
    }
  });
  return hash.value();
}

ShapeId ShapeTable::intern(const PodPtr& pod) {
  const std::size_t hash = shape_hash(*pod);
  const auto [begin, end] = by_hash_.equal_range(hash);
  const auto known = std::find_if(begin, end, [&](const auto& entry) {
    return same_shape(*examples_[entry.second.index()], *pod);
  });
  if (known != end) {
    return known->second;
  }
  const ShapeId fresh(static_cast<std::uint32_t>(examples_.size()));
  examples_.push_back(pod);
  by_hash_.emplace(hash, fresh);
  return fresh;
}

} // namespace berth::sched
