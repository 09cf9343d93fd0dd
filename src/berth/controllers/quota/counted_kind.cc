#include "berth/controllers/quota/counted_kind.h"

#include <algorithm>
#include <array>

#include "berth/api/kinds.h"

namespace berth::controllers {

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
