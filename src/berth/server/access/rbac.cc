#include "berth/server/access/rbac.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/store/errors.h"

namespace berth::server {
namespace {

using store::quote;

std::string user_key(std::string_view name) {
  return fmt::format("U{}", name);
}

std::string group_key(std::string_view name) {
  return fmt::format("G{}", name);
}

/// "" for a subject that can be nobody.
std::string key_of(const Subject& subject, const std::string& binding_ns) {
  if (subject.kind == "User") {
    return user_key(subject.name);
  }
  if (subject.kind == "Group") {
    return group_key(subject.name);
  }
  const std::string& ns = subject.ns.empty() ? binding_ns : subject.ns;
  if (subject.kind == "ServiceAccount" && !ns.empty()) {
    return user_key(account_user_name(ns, subject.name));
  }
  return "";
}

std::string described(const RoleBinding& binding, const Subject& subject) {
  const bool cluster = binding.ns.empty();
  std::string who = subject.name;
  if (subject.kind == "ServiceAccount") {
    who += "/" + (subject.ns.empty() ? binding.ns : subject.ns);
  }
  return fmt::format("{} {} of {} {} to {} {}", cluster ? "ClusterRoleBinding" : "RoleBinding",
                     quote(cluster ? binding.name : binding.name + "/" + binding.ns),
                     binding.role.kind, quote(binding.role.name), subject.kind, quote(who));
}

std::string not_there(const RoleRef& role) {
  if (role.kind == "Role" || role.kind == "ClusterRole") {
    return fmt::format("{}.{} {} not found", role.kind == "Role" ? "role" : "clusterrole",
                       kRbacGroup, quote(role.name));
  }
  return fmt::format("unsupported role reference kind: {}", quote(role.kind));
}

} // namespace

Result<std::unique_ptr<Rbac>> Rbac::open(store::Registry& registry) {
  std::unique_ptr<Rbac> made(new Rbac());
  Rbac* const self = made.get();
  const auto follow = [&](const store::GroupKind& kind, store::Sink sink) -> Result<void> {
    store::WatchOptions options;
    options.what.kind = kind;
    options.bookmarks = false;
    BERTH_TRY(auto subscription, registry.watch(options, std::move(sink)));
    self->subscriptions_.push_back(std::move(subscription));
    return {};
  };
  const auto roles = [self](const store::WatchEvent& event) { self->role_event(event); };
  const auto bindings = [self](const store::WatchEvent& event) { self->binding_event(event); };
  BERTH_CHECK(follow(kRoles, roles));
  BERTH_CHECK(follow(kClusterRoles, roles));
  BERTH_CHECK(follow(kRoleBindings, bindings));
  BERTH_CHECK(follow(kClusterRoleBindings, bindings));
  return made;
}

void Rbac::role_event(const store::WatchEvent& event) {
  if (event.type == store::WatchEvent::Type::Bookmark) {
    return;
  }
  roles_.erase(event.object.key());
  if (event.type == store::WatchEvent::Type::Deleted) {
    return;
  }
  // A role that cannot be read is there, and grants nothing.
  auto rules = server::rules_of(event.object.json());
  roles_[event.object.key()] = rules ? *std::move(rules) : PolicyRules();
}

void Rbac::forget(const api::Key& key) {
  const auto at = bindings_.find(key);
  if (at == bindings_.end()) {
    return;
  }
  for (const Subject& subject : at->second.subjects) {
    const auto bound = bound_.find(key_of(subject, key.ns));
    if (bound == bound_.end()) {
      continue;
    }
    if (const auto in_ns = bound->second.find(key.ns); in_ns != bound->second.end()) {
      in_ns->second.erase(key.name);
      if (in_ns->second.empty()) {
        bound->second.erase(in_ns);
      }
    }
    if (bound->second.empty()) {
      bound_.erase(bound);
    }
  }
  bindings_.erase(at);
}

void Rbac::binding_event(const store::WatchEvent& event) {
  if (event.type == store::WatchEvent::Type::Bookmark) {
    return;
  }
  const api::Key key = event.object.key();
  forget(key);
  if (event.type == store::WatchEvent::Type::Deleted) {
    return;
  }
  auto binding = binding_of(event.object);
  if (!binding) {
    return; // what cannot be read binds nobody
  }
  for (std::size_t i = 0; i < binding->subjects.size(); ++i) {
    if (std::string subject = key_of(binding->subjects[i], key.ns); !subject.empty()) {
      bound_[std::move(subject)][key.ns].emplace(key.name, i);
    }
  }
  bindings_.emplace(key, *std::move(binding));
}

const PolicyRules* Rbac::find(const RoleRef& role, const std::string& ns) const {
  const bool cluster = role.kind == "ClusterRole";
  if (!cluster && (role.kind != "Role" || ns.empty())) {
    return nullptr;
  }
  const auto at = roles_.find({cluster ? std::string() : ns, role.name});
  return at == roles_.end() ? nullptr : &at->second;
}

Result<PolicyRules> Rbac::rules_of(const RoleRef& role, const std::string& ns) const {
  if (const PolicyRules* found = find(role, ns)) {
    return *found;
  }
  return fail(Code::NotFound, not_there(role));
}

bool Rbac::visit_in(const User& user, const std::string& ns, const Visit& with,
                    std::vector<std::string>& missing) const {
  std::map<std::string_view, std::size_t> bindings; // by name: the first subject that applies
  const auto collect = [&](const std::string& subject) {
    const auto bound = bound_.find(subject);
    if (bound == bound_.end()) {
      return;
    }
    if (const auto in_ns = bound->second.find(ns); in_ns != bound->second.end()) {
      for (const auto& [name, position] : in_ns->second) {
        const auto [at, added] = bindings.emplace(name, position);
        at->second = std::min(at->second, position);
      }
    }
  };
  collect(user_key(user.name));
  for (const std::string& group : user.groups) {
    collect(group_key(group));
  }
  for (const auto& [name, position] : bindings) {
    const RoleBinding& binding = bindings_.at({ns, std::string(name)});
    const PolicyRules* rules = find(binding.role, ns);
    if (rules == nullptr) {
      missing.push_back(not_there(binding.role));
      continue;
    }
    for (const PolicyRule& rule : *rules) {
      if (!with(binding, binding.subjects[position], rule)) {
        return false;
      }
    }
  }
  return true;
}

std::vector<std::string> Rbac::visit(const User& user, const std::string& ns,
                                     const Visit& with) const {
  std::vector<std::string> missing;
  if (visit_in(user, "", with, missing) && !ns.empty()) {
    visit_in(user, ns, with, missing);
  }
  return missing;
}

Decision Rbac::authorize(const User& user, const RequestInfo& what) const {
  if (is_master(user)) {
    return {.allowed = true, .reason = ""};
  }
  Decision decision;
  const std::vector<std::string> missing = visit(
      user, what.is_resource ? what.ns : "",
      [&](const RoleBinding& binding, const Subject& subject, const PolicyRule& rule) {
        if (!allows(rule, what)) {
          return true;
        }
        decision = {.allowed = true, .reason = "RBAC: allowed by " + described(binding, subject)};
        return false;
      });
  if (!decision.allowed && !missing.empty()) {
    decision.reason = "RBAC: " + joined(missing);
  }
  return decision;
}

Rbac::Held Rbac::held(const User& user, const std::string& ns) const {
  Held held;
  held.missing = visit(user, ns, [&](const RoleBinding&, const Subject&, const PolicyRule& rule) {
    held.rules.push_back(rule);
    return true;
  });
  return held;
}

std::string Rbac::joined(const std::vector<std::string>& texts) {
  std::vector<std::string> once;
  for (const std::string& text : texts) {
    if (std::ranges::find(once, text) == once.end()) {
      once.push_back(text);
    }
  }
  return once.size() == 1 ? once.front() : fmt::format("[{}]", fmt::join(once, ", "));
}

} // namespace berth::server
