// What counts against a ResourceQuota. Rules: Kubernetes' quota evaluators: pods count until they
// end; "requests.x" and "limits.x" sum effective requests and limits; "count/<plural>.<group>"
// counts objects; scopes choose pods.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/object.h"
#include "berth/api/selector.h"
#include "berth/base/result.h"
#include "berth/client/client.h"
#include "berth/model/pod.h"

namespace berth::controllers {

/// Of one pod: pods, count/pods, requests.*, limits.* and the bare names cpu, memory and
/// ephemeral-storage.
model::ResourceList pod_usage(const model::Pod& pod);

/// spec.scopes and spec.scopeSelector, all of which a pod must satisfy.
struct QuotaScopes {
  std::vector<std::string> names; ///< Terminating, NotTerminating, BestEffort, NotBestEffort, ...
  std::vector<api::Requirement> requirements; ///< keys are scope names; PriorityClass takes values

  bool match(const model::Pod& pod) const;
  bool empty() const { return names.empty() && requirements.empty(); }
};

struct QuotaFact {
  model::ResourceList hard; ///< spec.hard
  QuotaScopes scopes;
};

Result<std::shared_ptr<const QuotaFact>> decode_quota_fact(const api::json::value& document);
inline Result<std::shared_ptr<const QuotaFact>> quota_fact(const api::Object& quota) {
  return quota.view<QuotaFact>(&decode_quota_fact);
}

/// Of a pod that counts against this quota now: not ended, in scope, only resources that the quota
/// limits.
model::ResourceList charged(const api::Object& pod, const QuotaFact& quota);

/// The kind that a key counts objects of ("count/jobs.batch", "configmaps"); none for resources and
/// for pods.
std::optional<client::GroupKind> counted_kind(std::string_view key);

} // namespace berth::controllers
