// Garbage collection by owner: dependents of a gone owner are deleted, an owner deleted in the
// foreground waits for dependents that block it, an orphaning deletion takes the references off.
// Rules: the Kubernetes garbage collector.
#pragma once

#include <memory>
#include <vector>

#include "berth/base/loop.h"
#include "berth/client/client.h"

namespace berth::controllers {

/// Sees the kinds it is given, as owners and as dependents; an owner of any other kind is asked of
/// the server. Nothing is deleted before the server has confirmed that its owners are gone.
class GarbageCollector {
 public:
  /// What controllers make and what owns it: pods, workloads, their revisions and claims.
  static std::vector<client::GroupKind> default_kinds();

  GarbageCollector(client::Client& client, Loop& loop)
      : GarbageCollector(client, loop, default_kinds()) {}
  GarbageCollector(client::Client& client, Loop& loop, const std::vector<client::GroupKind>& kinds);
  ~GarbageCollector();
  GarbageCollector(const GarbageCollector&) = delete;
  GarbageCollector& operator=(const GarbageCollector&) = delete;

  /// Starts to watch a further kind; harmless if it is watched already.
  void watch(const client::GroupKind& kind);

  /// Nothing is queued, under way or due later.
  bool idle() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

} // namespace berth::controllers
