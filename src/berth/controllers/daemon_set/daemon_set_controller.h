// Keeps one pod of each DaemonSet on every node it is for, rolls new templates out, and keeps
// revisions and status. Source: kubernetes pkg/controller/daemon.
#pragma once

#include <memory>

#include "berth/base/loop.h"
#include "berth/base/rng.h"
#include "berth/client/client.h"

namespace berth::controllers {

inline const client::GroupKind kDaemonSets{"apps", "DaemonSet"};

class DaemonSetController {
 public:
  DaemonSetController(client::Client& client, Loop& loop, Rng rng);
  ~DaemonSetController();
  DaemonSetController(const DaemonSetController&) = delete;
  DaemonSetController& operator=(const DaemonSetController&) = delete;

  bool idle() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

} // namespace berth::controllers
