// Keeps status.hard and status.used of ResourceQuotas true. Rule: the Kubernetes resource quota
// controller; refusing what exceeds a quota is admission's business.
#pragma once

#include <memory>

#include "berth/base/loop.h"
#include "berth/client/client.h"

namespace berth::controllers {

/// Usage is kept as a running sum a quota: a change of a pod costs O(quotas of its namespace).
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
