// ValidatingAdmissionPolicies and their bindings, held against requests. Source:
// apiserver/pkg/admission/plugin/policy/validating/dispatcher.go, generic/policy_source.go.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "berth/server/access/rbac.h"
#include "berth/server/policies/policy.h"
#include "berth/server/policies/review.h"
#include "berth/server/resources.h"
#include "berth/store/registry.h"

namespace berth::server {

/// A request costs nothing while there are no bindings, else O(policies that are bound) and what
/// those that match it evaluate. A policy is compiled when it is first asked after a change.
class Policies {
 public:
  /// Reads what is stored and follows what changes; all must outlive it. Error: the store's, if it
  /// cannot be watched.
  static Result<std::unique_ptr<Policies>> open(store::Registry& registry,
                                                const Resources& resources, const Rbac& rbac);
  Policies(const Policies&) = delete;
  Policies& operator=(const Policies&) = delete;

  /// Whether any could refuse anything.
  bool empty() const { return bindings_.empty(); }
  /// Error: a policy denies it, as Status 422 (or what the validation's reason says). Warnings and
  /// annotations go to `notes`, if they are wanted.
  Result<void> judge(const Review& review, store::AdmissionNotes* notes) const;

 private:
  Policies(store::Registry& registry, const Resources& resources, const Rbac& rbac)
      : registry_(&registry), resources_(&resources), rbac_(&rbac) {}

  void policy_event(const store::WatchEvent& event);
  void binding_event(const store::WatchEvent& event);
  using Bindings = std::map<std::string, api::Object>;
  struct Asked;
  struct Work;
  void judge_by(const Work& work) const;
  /// What a binding has the policy evaluated with; nothing where it is not about the request.
  Result<std::vector<api::Object>> params_for(const api::Object& binding,
                                              const schema::Resource* param_kind,
                                              const Asked& asked) const;
  const Policy& compiled(const std::string& name, const api::Object& object) const;

  store::Registry* registry_;
  const Resources* resources_;
  const Rbac* rbac_;
  std::map<std::string, api::Object> policies_;
  std::map<std::string, Bindings> bindings_;     ///< by policy, then name
  std::map<std::string, std::string> policy_of_; ///< of a binding, by its name
  mutable std::map<std::string, std::shared_ptr<const Policy>> compiled_;
  std::vector<std::unique_ptr<store::Subscription>> subscriptions_;
};

} // namespace berth::server
