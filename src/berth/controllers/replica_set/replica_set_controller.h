// Keeps the pods of ReplicaSets, or of their forebears ReplicationControllers, as many as they
// want, adopts and releases pods by their labels, and keeps the status true. Source: kubernetes
// pkg/controller/replicaset.
#pragma once

#include <memory>

#include "berth/base/loop.h"
#include "berth/base/rng.h"
#include "berth/client/client.h"

namespace berth::controllers {

inline const client::GroupKind kReplicaSets{"apps", "ReplicaSet"};
inline const client::GroupKind kReplicationControllers{"", "ReplicationController"};

class ReplicaSetController {
 public:
  /// `of` is one of the two kinds above.
  ReplicaSetController(client::Client& client, Loop& loop, Rng rng,
                       const client::GroupKind& of = kReplicaSets);
  ~ReplicaSetController();
  ReplicaSetController(const ReplicaSetController&) = delete;
  ReplicaSetController& operator=(const ReplicaSetController&) = delete;

  bool idle() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

} // namespace berth::controllers
