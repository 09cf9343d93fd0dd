// Keeps status.used of ElasticQuotas (scheduling.x-k8s.io): what the running pods of the namespace
// ask for, at least a 0 for every resource that the quota names. Rule: scheduler-plugins
// pkg/controllers/elasticquota_controller.go. The scheduler does not read it: it counts pods from
// the moment it places them.
#pragma once

#include <memory>

#include "berth/base/loop.h"
#include "berth/client/client.h"

namespace berth::controllers {

class ElasticQuotaController {
 public:
  ElasticQuotaController(client::Client& client, Loop& loop);
  ~ElasticQuotaController();
  ElasticQuotaController(const ElasticQuotaController&) = delete;
  ElasticQuotaController& operator=(const ElasticQuotaController&) = delete;

  /// Nothing is queued, under way or due later.
  bool idle() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

} // namespace berth::controllers
