// The kinds Berth knows by name: group, version, plural, scope, and whether something here acts on
// them.
#pragma once

#include <compare>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace berth::api {

/// "apps/v1" + "Deployment"; the core group is "".
struct GroupVersionKind {
  std::string group;
  std::string version;
  std::string kind;

  std::string api_version() const { return group.empty() ? version : group + "/" + version; }
  auto operator<=>(const GroupVersionKind&) const = default;
};

/// Splits "group/version" or "version".
GroupVersionKind make_gvk(std::string_view api_version, std::string_view kind);

enum class Scope { Namespaced, Cluster };

struct KindInfo {
  std::string_view group;
  std::string_view version;
  std::string_view kind;
  std::string_view plural;
  Scope scope = Scope::Namespaced;
};

/// Kinds that Berth's own components act on, in the order a cluster wants them applied.
std::span<const KindInfo> known_kinds();
/// The known kind, any version of its group; nullptr for kinds that are only stored.
const KindInfo* find_kind(std::string_view group, std::string_view kind);
/// Scope of any kind: known kinds as listed, common cluster-scoped kinds by name, Namespaced
/// otherwise.
Scope scope_of(const GroupVersionKind& gvk);
/// Lower-case plural of any kind: known ones as listed, else by English rule ("policies",
/// "classes").
std::string plural_of(const GroupVersionKind& gvk);
/// "pod/name" or "deployment.apps/name", as kubectl -o name prints it.
std::string resource_name(const GroupVersionKind& gvk, std::string_view name);

} // namespace berth::api
