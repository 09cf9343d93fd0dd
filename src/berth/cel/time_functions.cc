// Parts of times and durations. Source: cel-spec, doc/langdef.md ("List of Standard Definitions",
// "Timezones").
#include <absl/time/civil_time.h>
#include <absl/time/time.h>
#include <fmt/format.h>

#include "berth/cel/library.h"

namespace berth::cel {
namespace {

using Args = std::span<const Value>;

/// "-08:00" and "09:30" are offsets, all else names.
std::optional<absl::TimeZone> zone_of(const std::string& name) {
  const std::size_t sign = name.starts_with('-') || name.starts_with('+') ? 1 : 0;
  const std::size_t colon = name.find(':');
  if (colon != std::string::npos && colon > sign) {
    const auto number = [](std::string_view digits) {
      int out = 0;
      for (const char c : digits) {
        out = c >= '0' && c <= '9' && out < 100 ? out * 10 + (c - '0') : 1000;
      }
      return out;
    };
    const int hours = number(std::string_view(name).substr(sign, colon - sign));
    const int minutes = number(std::string_view(name).substr(colon + 1));
    if (hours > 23 || minutes > 59) {
      return std::nullopt;
    }
    const int offset = hours * 3600 + minutes * 60;
    return absl::FixedTimeZone(name.starts_with('-') ? -offset : offset);
  }
  absl::TimeZone zone;
  return absl::LoadTimeZone(name, &zone) ? std::optional(zone) : std::nullopt;
}

struct Civil {
  absl::CivilSecond second;
  int millis = 0;
};

template <auto part> Outcome part_of(Args args) {
  const std::int64_t nanos = args[0].get<TimePoint>()->unix_nanos();
  const std::string name = args.size() > 1 ? *args[1].get<std::string>() : "UTC";
  const auto zone = zone_of(name);
  if (!zone) {
    return failure(fmt::format("unknown time zone {}", name));
  }
  const absl::Time time = absl::FromUnixNanos(nanos);
  const auto in_zone = zone->At(time);
  const Civil civil{.second = in_zone.cs,
                    .millis = static_cast<int>(absl::ToInt64Milliseconds(in_zone.subsecond))};
  return Value(std::int64_t{part(civil)});
}

void add(std::vector<Declaration>& out, std::string_view name, Run run) {
  out.push_back({fmt::format("timestamp::{}() -> int", name), run});
  out.push_back({fmt::format("timestamp::{}(string) -> int", name), run});
}

template <std::int64_t nanos> Outcome whole_part(Args args) {
  return Value(args[0].get<Duration>()->count_nanos() / nanos);
}

} // namespace

std::vector<Declaration> time_functions() {
  std::vector<Declaration> out = {
      {"duration::getHours() -> int", whole_part<3'600'000'000'000>},
      {"duration::getMinutes() -> int", whole_part<60'000'000'000>},
      {"duration::getSeconds() -> int", whole_part<1'000'000'000>},
      {"duration::getMilliseconds() -> int", whole_part<1'000'000>},
  };
  add(out, "getFullYear",
      part_of<[](const Civil& c) { return static_cast<int>(c.second.year()); }>);
  add(out, "getMonth", part_of<[](const Civil& c) { return c.second.month() - 1; }>);
  add(out, "getDate", part_of<[](const Civil& c) { return c.second.day(); }>);
  add(out, "getDayOfMonth", part_of<[](const Civil& c) { return c.second.day() - 1; }>);
  add(out, "getDayOfWeek", part_of<[](const Civil& c) {
        return (static_cast<int>(absl::GetWeekday(c.second)) + 1) % 7; // Sunday is 0
      }>);
  add(out, "getDayOfYear",
      part_of<[](const Civil& c) { return absl::GetYearDay(absl::CivilDay(c.second)) - 1; }>);
  add(out, "getHours", part_of<[](const Civil& c) { return c.second.hour(); }>);
  add(out, "getMinutes", part_of<[](const Civil& c) { return c.second.minute(); }>);
  add(out, "getSeconds", part_of<[](const Civil& c) { return c.second.second(); }>);
  add(out, "getMilliseconds", part_of<[](const Civil& c) { return c.millis; }>);
  return out;
}

} // namespace berth::cel
