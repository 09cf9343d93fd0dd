// Keeps the status of PodGroups (scheduling.x-k8s.io): phase, counts, when scheduling started, who
// owns the members. Members are the pods of the same namespace with the group's label. Unlike the
// Coscheduling controller, equal names in different namespaces do not mix, and groups older than 48
// h are still followed.
#pragma once

#include <memory>

#include "berth/base/loop.h"
#include "berth/client/client.h"

namespace berth::controllers {

class PodGroupController {
 public:
  PodGroupController(client::Client& client, Loop& loop);
  ~PodGroupController();
  PodGroupController(const PodGroupController&) = delete;
  PodGroupController& operator=(const PodGroupController&) = delete;

  /// Nothing is queued, under way or due later.
  bool idle() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

} // namespace berth::controllers
