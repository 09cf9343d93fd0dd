// Keeps the status of PodDisruptionBudgets true: how many pods are healthy, and how many may be
// evicted. Source: kubernetes pkg/controller/disruption. The eviction itself is the API server's.
#pragma once

#include <memory>

#include "berth/base/loop.h"
#include "berth/base/rng.h"
#include "berth/client/client.h"

namespace berth::controllers {

inline const client::GroupKind kBudgets{"policy", "PodDisruptionBudget"};

class DisruptionController {
 public:
  DisruptionController(client::Client& client, Loop& loop, Rng rng);
  ~DisruptionController();
  DisruptionController(const DisruptionController&) = delete;
  DisruptionController& operator=(const DisruptionController&) = delete;

  bool idle() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

} // namespace berth::controllers
