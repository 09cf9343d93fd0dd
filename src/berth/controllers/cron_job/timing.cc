#include "berth/controllers/cron_job/timing.h"

#include <algorithm>

namespace berth::controllers {
namespace {

constexpr std::int64_t kMany = 100;

} // namespace

CronAnswer due_run(const CronQuestion& question) {
  TimePoint since = question.since;
  if (question.deadline) {
    since = std::max(since, question.now - *question.deadline);
  }
  const auto next = [&](TimePoint after) { return question.schedule.next(after, question.zone); };
  const auto first = next(since);
  if (!first || *first > question.now) {
    return {};
  }
  const auto second = next(*first);
  if (!second || *second > question.now) {
    return {.due = first};
  }
  const std::int64_t apart = second->unix_seconds() - first->unix_seconds();
  if (apart < 1) {
    return {.due = std::nullopt, .missed_many = false, .nonsense = true};
  }
  const std::int64_t missed = (question.now.unix_seconds() - first->unix_seconds()) / apart + 1;
  CronAnswer answer{.due = std::nullopt, .missed_many = missed > kMany};
  // An interval early, for schedules whose runs are not equally far apart.
  const TimePoint start = *first + Duration::seconds((missed - 2) * apart);
  for (auto time = next(start); time && *time <= question.now; time = next(*time)) {
    answer.due = time;
  }
  return answer;
}

std::optional<TimePoint> next_run(const CronQuestion& question) {
  // From the last run on, so that intervals keep their phase.
  const CronAnswer latest = due_run({.schedule = question.schedule,
                                     .zone = question.zone,
                                     .since = question.since,
                                     .deadline = std::nullopt,
                                     .now = question.now});
  auto time = question.schedule.next(latest.due.value_or(question.since), question.zone);
  if (time && *time <= question.now) {
    time = question.schedule.next(question.now, question.zone);
  }
  return time;
}

} // namespace berth::controllers
