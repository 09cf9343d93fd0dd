// Keeps the pods of StatefulSets, each with its name and claims, rolls new templates out, and keeps
// revisions and status. Source: kubernetes pkg/controller/statefulset.
#pragma once

#include <memory>

#include "berth/base/loop.h"
#include "berth/base/rng.h"
#include "berth/client/client.h"

namespace berth::controllers {

inline const client::GroupKind kStatefulSets{"apps", "StatefulSet"};

class StatefulSetController {
 public:
  StatefulSetController(client::Client& client, Loop& loop, Rng rng);
  ~StatefulSetController();
  StatefulSetController(const StatefulSetController&) = delete;
  StatefulSetController& operator=(const StatefulSetController&) = delete;

  bool idle() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

} // namespace berth::controllers
