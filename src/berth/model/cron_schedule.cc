#include "berth/model/cron_schedule.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace berth::model {
namespace {

constexpr int kYears = 5;

struct Bounds {
  int least;
  int most;
  std::span<const std::string_view> names = {}; ///< of least, least + 1, ...
};

constexpr std::array<std::string_view, 12> kMonths = {"jan", "feb", "mar", "apr", "may", "jun",
                                                      "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::array<std::string_view, 7> kWeekdays = {"sun", "mon", "tue", "wed",
                                                       "thu", "fri", "sat"};
constexpr Bounds kMinute{0, 59};
constexpr Bounds kHour{0, 23};
constexpr Bounds kDay{1, 31};
constexpr Bounds kMonth{1, 12, kMonths};
constexpr Bounds kWeekday{0, 6, kWeekdays};

struct Set {
  std::uint64_t bits = 0;
  bool any = false; ///< "*" or "?" without a step
};

tl::unexpected<Error> wrong(std::string message) {
  return fail(Code::Invalid, std::move(message));
}

std::vector<std::string> split(std::string_view text, auto separates) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (separates(c)) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

std::vector<std::string> split_at(std::string_view text, char separator) {
  return split(text, [separator](char c) { return c == separator; });
}

std::vector<std::string> words(std::string_view text) {
  auto parts = split(text, [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; });
  std::erase(parts, "");
  return parts;
}

Result<int> parse_number(const std::string& text) {
  int number = 0;
  const std::size_t sign = text.starts_with('+') ? 1 : 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data() + sign, end, number);
  if (error == std::errc::result_out_of_range) {
    return wrong(
        fmt::format("failed to parse int from {}: strconv.Atoi: parsing \"{}\": value out of range",
                    text, text));
  }
  if (error != std::errc() || at != end) {
    return wrong(fmt::format(
        "failed to parse int from {}: strconv.Atoi: parsing \"{}\": invalid syntax", text, text));
  }
  if (number < 0) {
    return wrong(fmt::format("negative number ({}) not allowed: {}", number, text));
  }
  return number;
}

Result<int> parse_value(const std::string& text, const Bounds& bounds) {
  std::string lower = text;
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto named = std::ranges::find(bounds.names, lower);
  if (named != bounds.names.end()) {
    return bounds.least + static_cast<int>(named - bounds.names.begin());
  }
  return parse_number(text);
}

/// "*", "5", "1-5", "*/15", "10-40/10", "3/5" (from 3 on).
Result<Set> parse_range(const std::string& text, const Bounds& bounds) {
  const auto step_parts = split_at(text, '/');
  const auto range = split_at(step_parts[0], '-');
  int first = bounds.least;
  int last = bounds.most;
  Set out{.bits = 0, .any = range[0] == "*" || range[0] == "?"};
  if (!out.any) {
    BERTH_TRY(first, parse_value(range[0], bounds));
    last = first;
    if (range.size() == 2) {
      BERTH_TRY(last, parse_value(range[1], bounds));
    } else if (range.size() > 2) {
      return wrong("too many hyphens: " + text);
    }
  }
  int step = 1;
  if (step_parts.size() == 2) {
    BERTH_TRY(step, parse_number(step_parts[1]));
    last = range.size() == 1 ? bounds.most : last;
    out.any = out.any && step <= 1;
  } else if (step_parts.size() > 2) {
    return wrong("too many slashes: " + text);
  }
  if (first < bounds.least) {
    return wrong(
        fmt::format("beginning of range ({}) below minimum ({}): {}", first, bounds.least, text));
  }
  if (last > bounds.most) {
    return wrong(fmt::format("end of range ({}) above maximum ({}): {}", last, bounds.most, text));
  }
  if (first > last) {
    return wrong(
        fmt::format("beginning of range ({}) beyond end of range ({}): {}", first, last, text));
  }
  if (step == 0) {
    return wrong("step of range should be a positive number: " + text);
  }
  for (std::int64_t value = first; value <= last; value += step) {
    out.bits |= std::uint64_t{1} << static_cast<unsigned>(value);
  }
  return out;
}

Result<Set> parse_field(const std::string& text, const Bounds& bounds) {
  auto parts = split_at(text, ',');
  std::erase(parts, "");
  Set all;
  for (const std::string& part : parts) {
    BERTH_TRY(const Set one, parse_range(part, bounds));
    all.bits |= one.bits;
    all.any = all.any || one.any;
  }
  return all;
}

struct Descriptor {
  std::string_view name;
  std::string_view fields;
};
constexpr std::array<Descriptor, 7> kDescriptors = {{{"@yearly", "0 0 1 1 *"},
                                                     {"@annually", "0 0 1 1 *"},
                                                     {"@monthly", "0 0 1 * *"},
                                                     {"@weekly", "0 0 * * 0"},
                                                     {"@daily", "0 0 * * *"},
                                                     {"@midnight", "0 0 * * *"},
                                                     {"@hourly", "0 * * * *"}}};

Result<Duration> parse_every(std::string_view text) {
  const std::string_view given = text.substr(std::string_view("@every ").size());
  const auto every = parse_duration(given);
  if (!every) {
    return wrong(
        fmt::format("failed to parse duration {}: time: invalid duration \"{}\"", text, given));
  }
  const std::int64_t seconds = every->count_nanos() / 1'000'000'000;
  return Duration::seconds(std::max<std::int64_t>(seconds, 1));
}

bool due(std::uint64_t set, int value) {
  return (set >> static_cast<unsigned>(value) & 1U) != 0;
}

TimePoint whole_seconds(TimePoint time) {
  return TimePoint::from_unix_seconds(time.unix_seconds());
}

} // namespace

Result<CronSchedule> CronSchedule::parse(std::string_view text) {
  if (text.empty()) {
    return wrong("empty spec string");
  }
  CronSchedule out;
  if (text.starts_with("@every ")) {
    BERTH_TRY(out.every_, parse_every(text));
    return out;
  }
  if (text.starts_with('@')) {
    const auto known = std::ranges::find(kDescriptors, text, &Descriptor::name);
    if (known == kDescriptors.end()) {
      return wrong(fmt::format("unrecognized descriptor: {}", text));
    }
    text = known->fields;
  }
  const auto fields = words(text);
  if (fields.size() != 5) {
    return wrong(fmt::format("expected exactly 5 fields, found {}: [{}]", fields.size(),
                             fmt::join(fields, " ")));
  }
  BERTH_TRY(const Set minutes, parse_field(fields[0], kMinute));
  BERTH_TRY(const Set hours, parse_field(fields[1], kHour));
  BERTH_TRY(const Set days, parse_field(fields[2], kDay));
  BERTH_TRY(const Set months, parse_field(fields[3], kMonth));
  BERTH_TRY(const Set weekdays, parse_field(fields[4], kWeekday));
  out.minutes_ = minutes.bits;
  out.hours_ = hours.bits;
  out.days_ = days.bits;
  out.months_ = months.bits;
  out.weekdays_ = weekdays.bits;
  out.any_day_ = days.any;
  out.any_weekday_ = weekdays.any;
  return out;
}

bool CronSchedule::day_matches(const CivilTime& civil) const {
  const bool day = due(days_, civil.day);
  const bool weekday = due(weekdays_, civil.weekday);
  return any_day_ || any_weekday_ ? day && weekday : day || weekday;
}

std::optional<TimePoint> CronSchedule::next(TimePoint after, const TimeZone& zone) const {
  if (every_) {
    return whole_seconds(after) + *every_;
  }
  const std::int64_t last_year = zone.at(after).year + kYears;
  const std::int64_t minute = after.unix_seconds() / 60 - (after.unix_seconds() % 60 < 0 ? 1 : 0);
  TimePoint time = TimePoint::from_unix_seconds((minute + 1) * 60);
  for (CivilTime civil = zone.at(time); civil.year <= last_year; civil = zone.at(time)) {
    if (!due(months_, civil.month)) {
      const bool turns = civil.month == 12;
      time = zone.instant(
          {.year = civil.year + (turns ? 1 : 0), .month = turns ? 1 : civil.month + 1});
    } else if (!day_matches(civil)) {
      time = zone.instant({.year = civil.year, .month = civil.month, .day = civil.day + 1});
    } else if (!due(hours_, civil.hour)) {
      time = time + Duration::minutes(60 - civil.minute);
    } else if (!due(minutes_, civil.minute)) {
      time = time + Duration::minutes(1);
    } else {
      return time;
    }
  }
  return std::nullopt;
}

} // namespace berth::model
