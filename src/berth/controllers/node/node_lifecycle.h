// The node lifecycle controller: a node whose Lease is no longer renewed becomes Unknown, nodes
// that are not ready are tainted and their pods marked not ready; all of it is taken back when the
// node returns. Rules: the Kubernetes node lifecycle controller. Not done: zones and the eviction
// rate limit of large outages.
#pragma once

#include <memory>

#include "berth/base/loop.h"
#include "berth/base/rng.h"
#include "berth/client/client.h"
#include "berth/controllers/node/heartbeat.h"

namespace berth::controllers {

/// One timer a node whose silence is growing; none for a node with a standing lease.
class NodeLifecycle {
 public:
  /// Nodes that have no Lease at all: in a cluster whose nodes are only described they are never
  /// silent.
  enum class WithoutLease { Monitored, Trusted };
  struct Options {
    GracePeriods grace;
    WithoutLease without_lease = WithoutLease::Monitored;
  };

  NodeLifecycle(client::Client& client, Loop& loop, Rng rng)
      : NodeLifecycle(client, loop, rng, Options()) {}
  NodeLifecycle(client::Client& client, Loop& loop, Rng rng, const Options& options);
  ~NodeLifecycle();
  NodeLifecycle(const NodeLifecycle&) = delete;
  NodeLifecycle& operator=(const NodeLifecycle&) = delete;

  /// Nothing is queued, under way or due later.
  bool idle() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

} // namespace berth::controllers
