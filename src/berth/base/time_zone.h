// Civil time in the time zones of the IANA database, as this machine has it (package tzdata).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "berth/base/result.h"
#include "berth/base/time.h"

namespace berth {

struct CivilTime {
  std::int64_t year = 1970;
  int month = 1; ///< 1 to 12
  int day = 1;   ///< 1 to 31
  int hour = 0;
  int minute = 0;
  int second = 0;
  int weekday = 0; ///< 0 is Sunday; not read where a CivilTime is given

  bool operator==(const CivilTime&) const = default;
};

/// A value; copying is a reference count.
class TimeZone {
 public:
  TimeZone(); ///< UTC
  /// "Europe/Berlin", "UTC". Error Invalid "unknown time zone NAME", also for names that are no
  /// places, such as "Local".
  static Result<TimeZone> load(std::string_view name);

  CivilTime at(TimePoint time) const;
  /// The first instant with this civil time; where clocks leap over it, the one that follows.
  TimePoint instant(const CivilTime& civil) const;
  /// "2026-01-02T03:04:05+01:00"; "Z" for UTC.
  std::string to_rfc3339(TimePoint time) const;

 private:
  struct Rep;
  explicit TimeZone(std::shared_ptr<const Rep> rep) : rep_(std::move(rep)) {}
  std::shared_ptr<const Rep> rep_;
};

} // namespace berth
