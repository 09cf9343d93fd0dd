#include "berth/store/kind_rules.h"

#include <algorithm>
#include <array>

#include <boost/json/value.hpp>

#include "berth/api/same.h"

namespace berth::store {
namespace {

bool is_desired(std::string_view member) {
  return member != "metadata" && member != "status" && member != "apiVersion" && member != "kind";
}

std::size_t desired_members(const api::json::object& document) {
  std::size_t count = 0;
  for (const auto& member : document) {
    count += is_desired(member.key()) ? 1 : 0;
  }
  return count;
}

} // namespace

bool is_built_in(const GroupKind& kind) {
  static constexpr std::array<std::string_view, 23> kGroups = {"",
                                                               "admissionregistration.k8s.io",
                                                               "apiextensions.k8s.io",
                                                               "apiregistration.k8s.io",
                                                               "apps",
                                                               "authentication.k8s.io",
                                                               "authorization.k8s.io",
                                                               "autoscaling",
                                                               "batch",
                                                               "certificates.k8s.io",
                                                               "coordination.k8s.io",
                                                               "discovery.k8s.io",
                                                               "events.k8s.io",
                                                               "flowcontrol.apiserver.k8s.io",
                                                               "internal.apiserver.k8s.io",
                                                               "networking.k8s.io",
                                                               "node.k8s.io",
                                                               "policy",
                                                               "rbac.authorization.k8s.io",
                                                               "resource.k8s.io",
                                                               "scheduling.k8s.io",
                                                               "storage.k8s.io",
                                                               "storagemigration.k8s.io"};
  return std::ranges::find(kGroups, kind.group) != kGroups.end();
}

bool counts_generation(const GroupKind& kind) {
  if (kind.group.empty()) {
    return kind.kind == "Pod" || kind.kind == "ReplicationController";
  }
  if (kind.group == "resource.k8s.io") {
    return kind.kind == "DeviceClass" || kind.kind == "ResourceSlice";
  }
  if (kind.kind == "ControllerRevision" || kind.group == "certificates.k8s.io" ||
      kind.group == "node.k8s.io" || kind.group == "autoscaling") {
    return false;
  }
  return kind.group != "coordination.k8s.io" && kind.group != "rbac.authorization.k8s.io" &&
         kind.group != "storage.k8s.io" && kind.group != "events.k8s.io";
}

bool create_drops_status(const GroupKind& kind) {
  return kind != kNodes;
}

StatusMetadata status_metadata(const GroupKind& kind) {
  static constexpr std::array<std::string_view, 7> kKept = {"CustomResourceDefinition",
                                                            "APIService",
                                                            "VolumeAttachment",
                                                            "ResourceClaim",
                                                            "FlowSchema",
                                                            "PriorityLevelConfiguration",
                                                            "ValidatingAdmissionPolicy"};
  if (kind == kPods) {
    return StatusMetadata::ButOwners;
  }
  if (kind == GroupKind{"apps", "Deployment"}) {
    return StatusMetadata::ButLabels;
  }
  return !is_built_in(kind) || std::ranges::find(kKept, kind.kind) != kKept.end()
             ? StatusMetadata::Kept
             : StatusMetadata::Written;
}

bool desired_state_differs(const api::json::object& before, const api::json::object& now) {
  if (desired_members(before) != desired_members(now)) {
    return true;
  }
  for (const auto& member : now) {
    if (!is_desired(member.key())) {
      continue;
    }
    const api::json::value* old = before.if_contains(member.key());
    if (old == nullptr || !api::same(*old, member.value())) {
      return true;
    }
  }
  return false;
}

} // namespace berth::store
