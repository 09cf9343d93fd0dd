// Fills ClusterRoles that have an aggregationRule with the rules of the ClusterRoles that it
// selects. Source: kubernetes pkg/controller/clusterroleaggregation.
#pragma once

#include <memory>

#include "berth/base/loop.h"
#include "berth/store/registry.h"

namespace berth::server {

/// Writes a turn of the loop after a ClusterRole changed; what aggregates aggregates follows in
/// further turns. Loop and registry must outlive it.
class ClusterRoleAggregation {
 public:
  /// Error: the store's, if it cannot be watched.
  static Result<std::unique_ptr<ClusterRoleAggregation>> open(Loop& loop,
                                                              store::Registry& registry);

  /// Writes what differs now. O(ClusterRoles x aggregated ones).
  void sync();

 private:
  ClusterRoleAggregation(Loop& loop, store::Registry& registry);

  Loop* loop_;
  store::Registry* registry_;
  Timer timer_;
  std::unique_ptr<store::Subscription> subscription_;
};

} // namespace berth::server
