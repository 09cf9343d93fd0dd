#include "berth/controllers/namespace_life/contents.h"

#include <algorithm>
#include <array>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/api/json.h"
#include "berth/api/kinds.h"

namespace berth::controllers {
namespace {

namespace json = api::json;
using store::GroupKind;

struct Condition {
  std::string_view type;
  bool holds;
  std::string_view reason;
  std::string message;
};

std::vector<Condition> conditions_of(const Remains& remains) {
  std::vector<Condition> out{
      {"NamespaceDeletionDiscoveryFailure", false, "ResourcesDiscovered",
       "All resources successfully discovered"},
      {"NamespaceDeletionGroupVersionParsingFailure", false, "ParsedGroupVersions",
       "All legacy kube types successfully parsed"},
      {"NamespaceDeletionContentFailure", false, "ContentDeleted",
       "All content successfully deleted, may be waiting on finalization"},
      {"NamespaceContentRemaining", false, "ContentRemoved", "All content successfully removed"},
      {"NamespaceFinalizersRemaining", false, "ContentHasNoFinalizers",
       "All content-preserving finalizers finished"}};
  if (!remains.failures.empty()) {
    std::vector<std::string> why;
    for (const auto& [resource, message] : remains.failures) {
      why.push_back(message);
    }
    out[2] = {"NamespaceDeletionContentFailure", true, "ContentDeletionFailed",
              fmt::format("Failed to delete all resource types, {} remaining: {}", why.size(),
                          fmt::join(why, ", "))};
  }
  std::vector<std::string> left;
  for (const auto& [kind, count] : remains.objects) {
    left.push_back(
        fmt::format("{}.{} has {} resource instances",
                    api::plural_of({.group = kind.group, .version = "", .kind = kind.kind}),
                    kind.group, count));
  }
  if (!left.empty()) {
    std::ranges::sort(left);
    out[3] = {"NamespaceContentRemaining", true, "SomeResourcesRemain",
              fmt::format("Some resources are remaining: {}", fmt::join(left, ", "))};
  }
  std::vector<std::string> waits;
  for (const auto& [finalizer, count] : remains.finalizers) {
    waits.push_back(fmt::format("{} in {} resource instances", finalizer, count));
  }
  if (!waits.empty()) {
    out[4] = {"NamespaceFinalizersRemaining", true, "SomeFinalizersRemain",
              fmt::format("Some content in the namespace has finalizers remaining: {}",
                          fmt::join(waits, ", "))};
  }
  return out;
}

} // namespace

std::span<const GroupKind> namespaced_kinds() {
  static const std::vector<GroupKind> kKinds = {{"", "ConfigMap"},
                                                {"", "Endpoints"},
                                                {"", "Event"},
                                                {"", "LimitRange"},
                                                {"", "PersistentVolumeClaim"},
                                                {"", "Pod"},
                                                {"", "PodTemplate"},
                                                {"", "ReplicationController"},
                                                {"", "ResourceQuota"},
                                                {"", "Secret"},
                                                {"", "Service"},
                                                {"", "ServiceAccount"},
                                                {"apps", "ControllerRevision"},
                                                {"apps", "DaemonSet"},
                                                {"apps", "Deployment"},
                                                {"apps", "ReplicaSet"},
                                                {"apps", "StatefulSet"},
                                                {"autoscaling", "HorizontalPodAutoscaler"},
                                                {"batch", "CronJob"},
                                                {"batch", "Job"},
                                                {"coordination.k8s.io", "Lease"},
                                                {"discovery.k8s.io", "EndpointSlice"},
                                                {"networking.k8s.io", "Ingress"},
                                                {"networking.k8s.io", "NetworkPolicy"},
                                                {"policy", "PodDisruptionBudget"},
                                                {"rbac.authorization.k8s.io", "Role"},
                                                {"rbac.authorization.k8s.io", "RoleBinding"},
                                                {"resource.k8s.io", "ResourceClaim"},
                                                {"resource.k8s.io", "ResourceClaimTemplate"},
                                                {"scheduling.x-k8s.io", "ElasticQuota"},
                                                {"scheduling.x-k8s.io", "PodGroup"},
                                                {"storage.k8s.io", "CSIStorageCapacity"}};
  return kKinds;
}

api::Object with_remains(const api::Object& ns, const Remains& remains, TimePoint now) {
  return ns.edit([&](json::object& document) {
    json::value& list = api::object_at(document, "status")["conditions"];
    json::array& conditions = list.is_array() ? list.get_array() : list.emplace_array();
    for (const Condition& wanted : conditions_of(remains)) {
      auto held = std::ranges::find_if(conditions, [&](const json::value& one) {
        return api::string_at(one, "type") == wanted.type;
      });
      if (held == conditions.end()) {
        conditions.emplace_back(json::object{{"type", wanted.type}});
        held = conditions.end() - 1;
      }
      const std::string_view status = wanted.holds ? "True" : "False";
      const bool moved = api::string_at(*held, "status") != status;
      json::object& condition = held->as_object();
      condition["status"] = status;
      if (moved) {
        condition["lastTransitionTime"] = to_rfc3339(now);
      }
      condition["reason"] = wanted.reason;
      condition["message"] = wanted.message;
    }
  });
}

} // namespace berth::controllers
