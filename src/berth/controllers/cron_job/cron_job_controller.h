// Starts the Jobs of CronJobs when they are due, deletes those beyond the history, and keeps the
// status. Source: kubernetes pkg/controller/cronjob.
#pragma once

#include <memory>

#include "berth/base/loop.h"
#include "berth/base/rng.h"
#include "berth/client/client.h"

namespace berth::controllers {

inline const client::GroupKind kCronJobs{"batch", "CronJob"};

class CronJobController {
 public:
  CronJobController(client::Client& client, Loop& loop, Rng rng);
  ~CronJobController();
  CronJobController(const CronJobController&) = delete;
  CronJobController& operator=(const CronJobController&) = delete;

  bool idle() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

} // namespace berth::controllers
