#include "berth/sched/affinity_terms.h"

#include <algorithm>
#include <functional>
#include <string_view>

namespace berth::sched {
namespace {

using Affinity = std::optional<model::PodAffinity>;

bool is_about_own_namespace(const model::PodAffinityTerm& term) {
  return term.namespaces.empty() && !term.namespace_selector;
}

bool is_about_own_namespace(const Affinity& affinity) {
  return affinity &&
         (std::ranges::any_of(affinity->required,
                              [](const auto& term) { return is_about_own_namespace(term); }) ||
          std::ranges::any_of(affinity->preferred, [](const auto& weighted) {
            return is_about_own_namespace(weighted.term);
          }));
}

/// The namespace, where it matters.
std::string_view own_namespace(const PodInfo& pod) {
  const model::PodSpec& spec = pod.pod->spec;
  const bool matters =
      is_about_own_namespace(spec.pod_affinity) || is_about_own_namespace(spec.pod_anti_affinity);
  return matters ? std::string_view(pod.ns()) : std::string_view();
}

void mix(std::size_t& hash, std::string_view text) {
  hash ^= std::hash<std::string_view>()(text) + 0x9e3779b97f4a7c15ULL + (hash << 6) + (hash >> 2);
}

void mix(std::size_t& hash, const model::PodAffinityTerm& term) {
  mix(hash, term.topology_key);
  if (term.label_selector) {
    for (const auto& requirement : term.label_selector->requirements) {
      mix(hash, requirement.key);
      for (const std::string& value : requirement.values) {
        mix(hash, value);
      }
    }
  }
}

std::size_t hash_of(const PodInfo& pod) {
  std::size_t hash = 0;
  mix(hash, own_namespace(pod));
  for (const Affinity* affinity : {&pod.pod->spec.pod_affinity, &pod.pod->spec.pod_anti_affinity}) {
    if (*affinity) {
      for (const auto& term : (*affinity)->required) {
        mix(hash, term);
      }
      for (const auto& weighted : (*affinity)->preferred) {
        mix(hash, weighted.term);
      }
    }
  }
  return hash;
}

bool same_terms(const PodInfo& a, const PodInfo& b) {
  return a.pod->spec.pod_affinity == b.pod->spec.pod_affinity &&
         a.pod->spec.pod_anti_affinity == b.pod->spec.pod_anti_affinity &&
         own_namespace(a) == own_namespace(b);
}

} // namespace

TermsId AffinityTerms::intern(const PodPtr& pod) {
  const std::size_t hash = hash_of(*pod);
  const auto [begin, end] = by_hash_.equal_range(hash);
  const auto known = std::find_if(
      begin, end, [&](const auto& entry) { return same_terms(example(entry.second), *pod); });
  if (known != end) {
    return known->second;
  }
  const TermsId fresh(static_cast<std::uint32_t>(entries_.size()));
  entries_.push_back({.example = pod, .placed = 0});
  by_hash_.emplace(hash, fresh);
  return fresh;
}

void AffinityTerms::count(TermsId terms, std::int64_t sign) {
  Entry& entry = entries_[terms.index()];
  const bool before = entry.placed > 0;
  entry.placed += sign;
  const bool after = entry.placed > 0;
  const auto it = std::ranges::lower_bound(present_, terms);
  if (!before && after) {
    present_.insert(it, terms);
  } else if (before && !after) {
    present_.erase(it);
  }
}

} // namespace berth::sched
