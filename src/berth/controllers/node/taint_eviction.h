// Evicts pods from nodes with NoExecute taints that they do not tolerate, or no longer. Rules: the
// Kubernetes taint eviction controller: condition DisruptionTarget, then deletion with the pod's
// own grace period, with its events.
#pragma once

#include <memory>

#include "berth/base/loop.h"
#include "berth/base/rng.h"
#include "berth/client/client.h"

namespace berth::controllers {

/// One timer a pod whose toleration runs out. Nothing is remembered that a restart would lose: due
/// times follow from the taint's timeAdded.
class TaintEviction {
 public:
  TaintEviction(client::Client& client, Loop& loop, Rng rng);
  ~TaintEviction();
  TaintEviction(const TaintEviction&) = delete;
  TaintEviction& operator=(const TaintEviction&) = delete;

  /// Nothing is queued, under way or due later.
  bool idle() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

} // namespace berth::controllers
