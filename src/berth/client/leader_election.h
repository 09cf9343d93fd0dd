// One of several processes leads, by a Lease that it renews. Source: client-go
// tools/leaderelection.
#pragma once

#include <functional>
#include <string>

#include "berth/base/loop.h"
#include "berth/client/client.h"

namespace berth::client {

struct ElectionOptions {
  std::string ns = "kube-system";
  std::string name;     ///< of the Lease
  std::string identity; ///< of this process; distinct among those that stand
  Duration lease_duration = Duration::seconds(15); ///< how long others wait for a silent leader
  Duration renew_deadline =
      Duration::seconds(10); ///< how long a leader tries to renew before it gives up
  Duration retry_period = Duration::seconds(2);
};

/// Stands from the moment it is made. `on_lead` runs once if this process becomes the leader,
/// `on_lost` once if it then cannot renew in time, or another has taken over; it does not stand
/// again. Clocks of the processes need not agree: what counts is when this one saw the Lease
/// change.
class LeaderElection {
 public:
  LeaderElection(Client& client, Loop& loop, ElectionOptions options, Task on_lead, Task on_lost);
  ~LeaderElection();
  LeaderElection(const LeaderElection&) = delete;
  LeaderElection& operator=(const LeaderElection&) = delete;

  bool leading() const;
  /// Who leads, as far as this process knows; "" for nobody.
  const std::string& leader() const;
  /// Gives the lead away, so that another need not wait for it; `done` runs when that is written or
  /// has failed.
  void release(Task done);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

} // namespace berth::client
