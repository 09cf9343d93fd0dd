#include "berth/controllers/quota/usage.h"

#include <algorithm>
#include <array>
#include <utility>

#include <boost/json/array.hpp>
#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/api/kinds.h"
#include "berth/controllers/pod_status.h"
#include "berth/model/requests.h"
#include "berth/model/workload.h"

namespace berth::controllers {
namespace {

namespace json = api::json;
using model::ResourceList;

/// Limits add up as requests do: over init phases, sidecars and the running phase.
ResourceList effective_limits(const model::PodSpec& spec) {
  model::PodSpec limits = spec;
  for (auto* containers : {&limits.containers, &limits.init_containers}) {
    for (model::Container& container : *containers) {
      container.resources.requests = container.resources.limits;
    }
  }
  if (limits.resources) {
    limits.resources->requests = limits.resources->limits;
  }
  return model::effective_requests(limits);
}

bool bare_name(std::string_view resource) {
  return resource == "cpu" || resource == "memory" || resource == "ephemeral-storage";
}

bool in_scope(const model::Pod& pod, std::string_view scope) {
  if (scope == "Terminating") {
    return pod.spec.active_deadline_seconds.has_value();
  }
  if (scope == "NotTerminating") {
    return !pod.spec.active_deadline_seconds.has_value();
  }
  if (scope == "BestEffort") {
    return model::qos_class(pod.spec) == "BestEffort";
  }
  if (scope == "NotBestEffort") {
    return model::qos_class(pod.spec) != "BestEffort";
  }
  if (scope == "PriorityClass") {
    return !pod.spec.priority_class_name.empty();
  }
  if (scope == "CrossNamespacePodAffinity") {
    const auto crosses = [](const std::optional<model::PodAffinity>& affinity) {
      const auto term_crosses = [](const model::PodAffinityTerm& term) {
        return !term.namespaces.empty() || term.namespace_selector.has_value();
      };
      return affinity && (std::ranges::any_of(affinity->required, term_crosses) ||
                          std::ranges::any_of(affinity->preferred, [&](const auto& weighted) {
                            return term_crosses(weighted.term);
                          }));
    };
    return crosses(pod.spec.pod_affinity) || crosses(pod.spec.pod_anti_affinity);
  }
  return false;
}

bool satisfies(const model::Pod& pod, const api::Requirement& requirement) {
  if (requirement.key != "PriorityClass") {
    // Other scopes only know Exists.
    return in_scope(pod, requirement.key);
  }
  api::Labels labels;
  if (!pod.spec.priority_class_name.empty()) {
    labels.emplace("PriorityClass", pod.spec.priority_class_name);
  }
  return requirement.matches(labels);
}

QuotaScopes read_scopes(const json::value& document) {
  QuotaScopes scopes;
  if (const json::value* names = api::find_path(document, "spec.scopes");
      names != nullptr && names->is_array()) {
    for (const json::value& name : names->get_array()) {
      if (name.is_string()) {
        scopes.names.emplace_back(name.get_string());
      }
    }
  }
  const json::value* expressions = api::find_path(document, "spec.scopeSelector.matchExpressions");
  if (expressions == nullptr || !expressions->is_array()) {
    return scopes;
  }
  for (const json::value& expression : expressions->get_array()) {
    const auto op = api::parse_operator(api::string_at(expression, "operator"));
    api::Requirement requirement{.key = std::string(api::string_at(expression, "scopeName")),
                                 .op = op.value_or(api::Operator::Exists),
                                 .values = {}};
    if (const json::value* values = api::find(expression, "values");
        values != nullptr && values->is_array()) {
      for (const json::value& value : values->get_array()) {
        if (value.is_string()) {
          requirement.values.emplace_back(value.get_string());
        }
      }
    }
    scopes.requirements.push_back(std::move(requirement));
  }
  return scopes;
}

} // namespace

ResourceList pod_usage(const model::Pod& pod) {
  ResourceList usage;
  usage["pods"] = api::Quantity::from_int(1);
  usage["count/pods"] = api::Quantity::from_int(1);
  for (const auto& [name, quantity] : model::effective_requests(pod.spec)) {
    usage["requests." + name] += quantity;
    if (bare_name(name)) {
      usage[name] += quantity;
    }
  }
  for (const auto& [name, quantity] : effective_limits(pod.spec)) {
    usage["limits." + name] += quantity;
  }
  return usage;
}

bool QuotaScopes::match(const model::Pod& pod) const {
  return std::ranges::all_of(names, [&](const std::string& name) { return in_scope(pod, name); }) &&
         std::ranges::all_of(requirements,
                             [&](const api::Requirement& r) { return satisfies(pod, r); });
}

Result<std::shared_ptr<const QuotaFact>> decode_quota_fact(const json::value& document) {
  BERTH_TRY(const auto quota, model::decode_resource_quota(document));
  return std::make_shared<const QuotaFact>(
      QuotaFact{.hard = quota->hard, .scopes = read_scopes(document)});
}

ResourceList charged(const api::Object& pod, const QuotaFact& quota) {
  ResourceList result;
  if (!pod || terminal(pod)) {
    return result;
  }
  const auto view = model::pod_view(pod);
  if (!view || !quota.scopes.match(**view)) {
    return result;
  }
  for (const auto& [name, quantity] : pod_usage(**view)) {
    if (quota.hard.contains(name)) {
      result.emplace(name, quantity);
    }
  }
  return result;
}

std::optional<client::GroupKind> counted_kind(std::string_view key) {
  struct Legacy {
    std::string_view key;
    std::string_view kind;
  };
  static constexpr std::array<Legacy, 6> kLegacy = {
      {{"configmaps", "ConfigMap"},
       {"persistentvolumeclaims", "PersistentVolumeClaim"},
       {"replicationcontrollers", "ReplicationController"},
       {"resourcequotas", "ResourceQuota"},
       {"secrets", "Secret"},
       {"services", "Service"}}};
  constexpr std::string_view kCount = "count/";
  std::string_view plural = key;
  if (key.starts_with(kCount)) {
    plural.remove_prefix(kCount.size());
  }
  if (plural == "pods") {
    return std::nullopt;
  }
  const auto legacy = std::ranges::find(kLegacy, plural, &Legacy::key);
  if (legacy != kLegacy.end()) {
    return client::GroupKind{"", std::string(legacy->kind)};
  }
  if (!key.starts_with(kCount)) {
    return std::nullopt;
  }
  const auto dot = plural.find('.');
  const std::string_view name = plural.substr(0, dot);
  const std::string_view group =
      dot == std::string_view::npos ? std::string_view() : plural.substr(dot + 1);
  for (const api::KindInfo& info : api::known_kinds()) {
    if (info.plural == name && info.group == group) {
      return client::GroupKind{std::string(info.group), std::string(info.kind)};
    }
  }
  if (group == "apps" && (name == "deployments" || name == "replicasets")) {
    return client::GroupKind{"apps", name == "deployments" ? "Deployment" : "ReplicaSet"};
  }
  return std::nullopt;
}

} // namespace berth::controllers
