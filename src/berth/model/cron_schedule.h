// When a CronJob is due: the five fields of a crontab, or @hourly and the like. Source: what
// Kubernetes reads, github.com/robfig/cron/v3 ParseStandard, and its error texts.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "berth/base/result.h"
#include "berth/base/time_zone.h"

namespace berth::model {

/// Minute, hour, day of month, month, day of week: numbers, names (jan, sun), "*", "?", lists,
/// ranges and steps. Day of month and day of week are both to match if one is "*", else one of
/// them. "@every 90m" is an interval.
class CronSchedule {
 public:
  static Result<CronSchedule> parse(std::string_view text);

  /// The first time after `after` that matches in this zone; none within five years. Times that
  /// clocks leap over are not due. O(days) at most.
  std::optional<TimePoint> next(TimePoint after, const TimeZone& zone) const;

 private:
  bool day_matches(const CivilTime& civil) const;

  std::uint64_t minutes_ = 0; ///< bit n: minute n is due; alike below
  std::uint64_t hours_ = 0;
  std::uint64_t days_ = 0;
  std::uint64_t months_ = 0;
  std::uint64_t weekdays_ = 0;
  bool any_day_ = false;
  bool any_weekday_ = false;
  std::optional<Duration> every_;
};

} // namespace berth::model
