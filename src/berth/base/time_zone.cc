#include "berth/base/time_zone.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include <absl/time/time.h>
#include <fmt/format.h>

namespace berth {
namespace {

bool is_place(std::string_view name) {
  const bool plain = std::ranges::all_of(name, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '+' || c == '-' || c == '/';
  });
  return plain && !name.empty() && !name.starts_with('/') && !name.starts_with("Fixed/") &&
         name != "localtime" && name != "Local" && name != "local";
}

absl::Time to_absl(TimePoint time) {
  return absl::FromUnixSeconds(time.unix_seconds());
}

TimePoint from_absl(absl::Time time) {
  return TimePoint::from_unix_seconds(absl::ToUnixSeconds(time));
}

} // namespace

struct TimeZone::Rep {
  absl::TimeZone zone;
};

TimeZone::TimeZone() : rep_(std::make_shared<Rep>(Rep{.zone = absl::UTCTimeZone()})) {}

Result<TimeZone> TimeZone::load(std::string_view name) {
  absl::TimeZone zone;
  if (!is_place(name) || !absl::LoadTimeZone(std::string(name), &zone)) {
    return fail(Code::Invalid, fmt::format("unknown time zone {}", name));
  }
  return TimeZone(std::make_shared<Rep>(Rep{.zone = zone}));
}

CivilTime TimeZone::at(TimePoint time) const {
  const absl::CivilSecond civil = rep_->zone.At(to_absl(time)).cs;
  const int weekday = static_cast<int>(absl::GetWeekday(civil)); // 0 is Monday
  return {.year = civil.year(),
          .month = civil.month(),
          .day = civil.day(),
          .hour = civil.hour(),
          .minute = civil.minute(),
          .second = civil.second(),
          .weekday = (weekday + 1) % 7};
}

TimePoint TimeZone::instant(const CivilTime& civil) const {
  const auto found = rep_->zone.At(absl::CivilSecond(civil.year, civil.month, civil.day, civil.hour,
                                                     civil.minute, civil.second));
  return from_absl(found.kind == absl::TimeZone::TimeInfo::SKIPPED ? found.trans : found.pre);
}

std::string TimeZone::to_rfc3339(TimePoint time) const {
  const auto info = rep_->zone.At(to_absl(time));
  return absl::FormatTime(info.offset == 0 && rep_->zone.name() == "UTC" ? "%Y-%m-%dT%H:%M:%SZ"
                                                                         : "%Y-%m-%dT%H:%M:%S%Ez",
                          to_absl(time), rep_->zone);
}

} // namespace berth
