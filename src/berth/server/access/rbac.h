// Role-based access control: who holds which rules, by an index that follows the store. Source:
// kubernetes plugin/pkg/auth/authorizer/rbac/rbac.go, component-helpers auth/rbac/validation.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "berth/base/text_map.h"
#include "berth/server/access/decision.h"
#include "berth/server/access/rbac_objects.h"
#include "berth/store/registry.h"

namespace berth::server {

/// A question costs O(bindings that name the user or one of its groups, cluster-wide and in the
/// namespace asked about), whatever else is stored. Bindings are looked through cluster-wide ones
/// first, by name.
class Rbac {
 public:
  /// Reads what is stored and follows what changes; the registry's store must outlive it. Error:
  /// the store's, if it cannot be watched.
  static Result<std::unique_ptr<Rbac>> open(store::Registry& registry);
  Rbac(const Rbac&) = delete;
  Rbac& operator=(const Rbac&) = delete;

  /// system:masters may do everything.
  Decision authorize(const User& user, const RequestInfo& what) const;

  struct Held {
    PolicyRules rules;
    std::vector<std::string> missing; ///< what bindings of the user refer to and is not there
  };
  /// All that the user holds in a namespace; ns "": across the cluster. Rules as often as they are
  /// bound.
  Held held(const User& user, const std::string& ns) const;
  /// The rules that a binding in `ns` to this role gives. Error: it is not there, in the words of
  /// an authorizer's reason.
  Result<PolicyRules> rules_of(const RoleRef& role, const std::string& ns) const;

  /// Several causes as one text: "a", "[a, b]", each once.
  static std::string joined(const std::vector<std::string>& texts);

 private:
  Rbac() = default;

  /// By "U" + user or "G" + group, then namespace, then the binding's name: the first of the
  /// binding's subjects that is this one.
  using Bound = std::map<std::string, std::map<std::string, std::size_t>, std::less<>>;
  using Visit = std::function<bool(const RoleBinding&, const Subject&, const PolicyRule&)>;

  void role_event(const store::WatchEvent& event);
  void binding_event(const store::WatchEvent& event);
  void forget(const api::Key& key);
  const PolicyRules* find(const RoleRef& role, const std::string& ns) const;
  std::vector<std::string> visit(const User& user, const std::string& ns, const Visit& with) const;
  bool visit_in(const User& user, const std::string& ns, const Visit& with,
                std::vector<std::string>& missing) const;

  std::map<api::Key, PolicyRules> roles_;    ///< ns "": ClusterRoles
  std::map<api::Key, RoleBinding> bindings_; ///< ns "": ClusterRoleBindings
  TextMap<Bound> bound_;
  std::vector<std::unique_ptr<store::Subscription>> subscriptions_;
};

} // namespace berth::server
