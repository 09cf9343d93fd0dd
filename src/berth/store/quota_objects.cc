#include "berth/store/quota_objects.h"

#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/model/workload.h"
#include "berth/store/errors.h"

namespace berth::store {
namespace {

using model::ResourceList;

/// Kinds that were counted before every kind was, by their plain names.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kPlainNames = {
    {{"ConfigMap", "configmaps"},
     {"Secret", "secrets"},
     {"Service", "services"},
     {"PersistentVolumeClaim", "persistentvolumeclaims"},
     {"ReplicationController", "replicationcontrollers"},
     {"ResourceQuota", "resourcequotas"},
     {"Pod", "pods"}}};

void add_service(const api::json::value& service, ResourceList& usage) {
  const std::string_view type = api::string_at(service, "spec.type");
  const api::json::value* ports = api::find_path(service, "spec.ports");
  const std::size_t count = ports != nullptr && ports->is_array() ? ports->get_array().size() : 0;
  if (type == "NodePort" || type == "LoadBalancer") {
    usage["services.nodeports"] = api::Quantity::from_int(static_cast<std::int64_t>(count));
  }
  if (type == "LoadBalancer") {
    usage["services.loadbalancers"] = api::Quantity::from_int(1);
  }
}

void add_claim(const api::json::value& claim, ResourceList& usage) {
  const auto storage =
      api::Quantity::parse(api::string_at(claim, "spec.resources.requests.storage"));
  const std::string of_class(api::string_at(claim, "spec.storageClassName"));
  if (storage) {
    usage["requests.storage"] = *storage;
  }
  if (!of_class.empty()) {
    const std::string prefix = of_class + ".storageclass.storage.k8s.io/";
    usage[prefix + "persistentvolumeclaims"] = api::Quantity::from_int(1);
    if (storage) {
      usage[prefix + "requests.storage"] = *storage;
    }
  }
}

ResourceList usage_of(const api::Object& object) {
  const GroupKind kind = group_kind(object);
  ResourceList usage;
  usage["count/" + resource_text(kind)] = api::Quantity::from_int(1);
  if (!kind.group.empty()) {
    return usage;
  }
  for (const auto& [name, plain] : kPlainNames) {
    if (kind.kind == name) {
      usage[std::string(plain)] = api::Quantity::from_int(1);
    }
  }
  if (kind.kind == "Service") {
    add_service(object.json(), usage);
  } else if (kind.kind == "PersistentVolumeClaim") {
    add_claim(object.json(), usage);
  }
  return usage;
}

ResourceList used_by(const Store& store, const GroupKind& kind, const std::string& ns) {
  ResourceList used;
  for (const api::Object& object : store.list({.kind = kind, .ns = ns}).items) {
    for (const auto& [name, amount] : usage_of(object)) {
      used[name] += amount;
    }
  }
  return used;
}

void add_text(std::string& out, const std::string& name, const api::Quantity& amount) {
  out += fmt::format("{}{}={}", out.empty() ? "" : ",", name, amount.to_string());
}

} // namespace

Result<void> admit_object(const Store& store, const api::Object& object) {
  const std::string& ns = object.meta().ns;
  const GroupKind kind = group_kind(object);
  if (ns.empty() || kind == kEvents) { // events are never counted
    return {};
  }
  const auto quotas = store.list({.kind = kResourceQuotas, .ns = ns}).items;
  if (quotas.empty()) {
    return {};
  }
  const ResourceList asked = usage_of(object);
  std::optional<ResourceList> counted;
  for (const api::Object& quota : quotas) {
    BERTH_TRY(const auto view, model::resource_quota_view(quota));
    std::string requested;
    std::string held;
    std::string limited;
    for (const auto& [name, limit] : view->hard) {
      const auto amount = asked.find(name);
      if (amount == asked.end()) {
        continue;
      }
      if (!counted) {
        counted = used_by(store, kind, ns);
      }
      const auto at = counted->find(name);
      const api::Quantity before = at == counted->end() ? api::Quantity() : at->second;
      if (before + amount->second > limit) {
        add_text(requested, name, amount->second);
        add_text(held, name, before);
        add_text(limited, name, limit);
      }
    }
    if (!requested.empty()) {
      return forbidden(kind, object.meta().name,
                       fmt::format("exceeded quota: {}, requested: {}, used: {}, limited: {}",
                                   quota.meta().name, requested, held, limited));
    }
  }
  return {};
}

} // namespace berth::store
