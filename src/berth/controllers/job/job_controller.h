// The Job controller: watches Jobs and their pods, and carries out what plan_job() decides. Rules:
// the Kubernetes Job controller (and its TTL-after-finished controller). Not done:
// podFailurePolicy, successPolicy, managedBy, adoption of pods without a controller.
#pragma once

#include <memory>

#include "berth/base/loop.h"
#include "berth/base/rng.h"
#include "berth/client/client.h"

namespace berth::controllers {

/// One step per reconcile and Job: create or delete pods, else store the status, else release
/// counted pods; each change brings the Job back until nothing is left to do. Level-triggered:
/// state outside the API is only the backoff record, whose loss makes replacements earlier.
class JobController {
 public:
  struct Options {
    std::size_t workers = 64; ///< Jobs worked on at one time
  };

  JobController(client::Client& client, Loop& loop, Rng rng)
      : JobController(client, loop, rng, Options()) {}
  JobController(client::Client& client, Loop& loop, Rng rng, const Options& options);
  ~JobController();
  JobController(const JobController&) = delete;
  JobController& operator=(const JobController&) = delete;

  /// Nothing is queued, under way or due later.
  bool idle() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

} // namespace berth::controllers
