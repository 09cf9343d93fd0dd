// Rolls Deployments out: makes, scales and forgets their ReplicaSets, and keeps their status true.
// Source: kubernetes pkg/controller/deployment.
#pragma once

#include <memory>

#include "berth/base/loop.h"
#include "berth/base/rng.h"
#include "berth/client/client.h"

namespace berth::controllers {

inline const client::GroupKind kDeployments{"apps", "Deployment"};

class DeploymentController {
 public:
  DeploymentController(client::Client& client, Loop& loop, Rng rng);
  ~DeploymentController();
  DeploymentController(const DeploymentController&) = delete;
  DeploymentController& operator=(const DeploymentController&) = delete;

  bool idle() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

} // namespace berth::controllers
