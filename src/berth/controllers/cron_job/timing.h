// Which run of a CronJob is due, as a pure function of its schedule and of when it ran last.
// Source: kubernetes pkg/controller/cronjob/utils.go (mostRecentScheduleTime).
#pragma once

#include <optional>

#include "berth/model/cron_schedule.h"

namespace berth::controllers {

struct CronQuestion {
  const model::CronSchedule& schedule;
  const TimeZone& zone;
  TimePoint since;                  ///< status.lastScheduleTime, else the creation
  std::optional<Duration> deadline; ///< spec.startingDeadlineSeconds
  TimePoint now;
};

struct CronAnswer {
  std::optional<TimePoint> due; ///< the latest scheduled time that has come and was not run
  bool missed_many = false;     ///< more than a hundred have
  bool nonsense = false;        ///< two runs would be less than a second apart
};
/// O(runs within two intervals of now), however long ago the last run was.
CronAnswer due_run(const CronQuestion& question);

/// When to look again: the first scheduled time after now; none if there is none.
std::optional<TimePoint> next_run(const CronQuestion& question);

} // namespace berth::controllers
