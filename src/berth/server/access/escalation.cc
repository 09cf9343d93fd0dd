#include "berth/server/access/escalation.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/api/json.h"
#include "berth/server/access/rule_cover.h"
#include "berth/store/errors.h"

namespace berth::server {
namespace {

using store::quote;

tl::unexpected<Status> refused(const GrantingWrite& write, std::string_view why) {
  const auto error =
      store::forbidden(store::group_kind(write.object), write.object.meta().name, why);
  return tl::unexpected(status_of(error.value()));
}

/// Why the user may not hand out these rules in the request's namespace; "" if it may.
std::string lacking(const Rbac& rbac, const GrantingWrite& write, const PolicyRules& wanted) {
  const Rbac::Held held = rbac.held(write.user, write.info.ns);
  const PolicyRules missing = missing_rules(held.rules, wanted);
  if (missing.empty()) {
    return "";
  }
  std::set<std::string> texts;
  for (const PolicyRule& rule : compacted(missing)) {
    texts.insert(to_string(rule));
  }
  std::string why =
      fmt::format("user {} (groups={}) is attempting to grant RBAC permissions not "
                  "currently held:\n{}",
                  quote(write.user.name), to_string(write.user.groups), fmt::join(texts, "\n"));
  if (!held.missing.empty()) {
    why += fmt::format("; resolution errors: [{}]", Rbac::joined(held.missing));
  }
  return why;
}

/// An update whose every change is in ownerReferences and finalizers: the garbage collector's.
bool changes_no_rights(const GrantingWrite& write) {
  if (write.before == nullptr) {
    return false;
  }
  const auto without = [](const api::Object& object) {
    api::json::value document = object.json();
    api::json::object& meta = api::object_at(document.as_object(), "metadata");
    for (const std::string_view field : {"ownerReferences", "finalizers", "managedFields"}) {
      meta.erase(field);
    }
    return document;
  };
  return without(write.object) == without(*write.before);
}

bool may(const Rbac& rbac, const GrantingWrite& write, std::string verb, std::string resource,
         std::string name) {
  RequestInfo what;
  what.verb = std::move(verb);
  what.is_resource = true;
  what.group = kRbacGroup;
  what.version = "*";
  what.ns = write.info.ns;
  what.resource = std::move(resource);
  what.name = std::move(name);
  return rbac.authorize(write.user, what).allowed;
}

bool aggregates(const api::Object& role) {
  return api::find(role.json(), "aggregationRule") != nullptr;
}

Answer<void> check_role(const Rbac& rbac, const GrantingWrite& write) {
  if (may(rbac, write, "escalate", write.info.resource, write.info.name) ||
      changes_no_rights(write)) {
    return {};
  }
  const auto rules = rules_of(write.object.json());
  if (!rules) {
    return tl::unexpected(status_of(rules.error()));
  }
  if (const std::string why = lacking(rbac, write, *rules); !why.empty()) {
    return refused(write, why);
  }
  // An aggregation can gather anything, later too.
  if (aggregates(write.object) || (write.before != nullptr && aggregates(*write.before))) {
    const PolicyRules all = {{.verbs = {"*"},
                              .api_groups = {"*"},
                              .resources = {"*"},
                              .resource_names = {},
                              .non_resource_urls = {}},
                             {.verbs = {"*"},
                              .api_groups = {},
                              .resources = {},
                              .resource_names = {},
                              .non_resource_urls = {"*"}}};
    if (!lacking(rbac, write, all).empty()) {
      return refused(write, "must have cluster-admin privileges to use an aggregationRule");
    }
  }
  return {};
}

Answer<void> check_binding(const Rbac& rbac, const GrantingWrite& write) {
  if (changes_no_rights(write)) {
    return {};
  }
  const auto binding = binding_of(write.object);
  if (!binding) {
    return tl::unexpected(status_of(binding.error()));
  }
  const RoleRef& role = binding->role;
  const store::GroupKind& kind = role.kind == "ClusterRole" ? kClusterRoles : kRoles;
  if (role.kind != "ClusterRole" && role.kind != "Role") {
    return {}; // validation says so
  }
  if (may(rbac, write, "bind", role.kind == "Role" ? "roles" : "clusterroles", role.name)) {
    return {};
  }
  const auto rules = rbac.rules_of(role, write.info.ns);
  if (!rules) {
    return tl::unexpected(status_of(store::not_found(kind, role.name).value()));
  }
  if (const std::string why = lacking(rbac, write, *rules); !why.empty()) {
    return refused(write, why);
  }
  return {};
}

} // namespace

Answer<void> check_escalation(const Rbac& rbac, const GrantingWrite& write) {
  if (is_master(write.user)) {
    return {};
  }
  const store::GroupKind kind = store::group_kind(write.object);
  if (kind == kRoles || kind == kClusterRoles) {
    return check_role(rbac, write);
  }
  if (kind == kRoleBindings || kind == kClusterRoleBindings) {
    return check_binding(rbac, write);
  }
  return {};
}

} // namespace berth::server
