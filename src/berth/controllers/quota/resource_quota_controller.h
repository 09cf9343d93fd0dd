// Keeps the object counts of ResourceQuotas true ("count/jobs.batch", "configmaps"). Rule: the
// Kubernetes resource quota controller. Pods and what they ask for are accounted for by the server
// with every write of a pod (store/quota.h); each key of status.used has one writer.
#pragma once

#include <memory>

#include "berth/base/loop.h"
#include "berth/client/client.h"

namespace berth::controllers {

/// Watches a kind from the first quota on that counts it.
class ResourceQuotaController {
 public:
  ResourceQuotaController(client::Client& client, Loop& loop);
  ~ResourceQuotaController();
  ResourceQuotaController(const ResourceQuotaController&) = delete;
  ResourceQuotaController& operator=(const ResourceQuotaController&) = delete;

  /// Nothing is queued, under way or due later.
  bool idle() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

} // namespace berth::controllers
