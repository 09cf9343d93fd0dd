#include "berth/base/time.h"

#include <array>
#include <charconv>
#include <chrono>
#include <optional>

#include <fmt/format.h>

namespace berth {
namespace {

constexpr std::int64_t kNanosPerSecond = 1'000'000'000;

/// Reads exactly `width` digits at `pos` and moves past them.
std::optional<int> digits(std::string_view text, std::size_t& pos, std::size_t width) {
  if (pos + width > text.size()) {
    return std::nullopt;
  }
  int value = 0;
  const auto [end, ec] = std::from_chars(text.data() + pos, text.data() + pos + width, value);
  if (ec != std::errc() || end != text.data() + pos + width || text[pos] == '-') {
    return std::nullopt;
  }
  pos += width;
  return value;
}

bool take(std::string_view text, std::size_t& pos, std::string_view any_of) {
  if (pos < text.size() && any_of.find(text[pos]) != std::string_view::npos) {
    ++pos;
    return true;
  }
  return false;
}

struct Civil {
  std::chrono::year_month_day date;
  std::chrono::hh_mm_ss<std::chrono::nanoseconds> time;
};

Civil civil(TimePoint t) {
  const std::chrono::sys_time<std::chrono::nanoseconds> at{
      std::chrono::nanoseconds(t.unix_nanos())};
  const auto day = std::chrono::floor<std::chrono::days>(at);
  return {std::chrono::year_month_day(day),
          std::chrono::hh_mm_ss<std::chrono::nanoseconds>(at - day)};
}

/// Writes the number's last digits, up to `end`.
void put_digits(std::string& text, std::size_t end, std::size_t count, std::int64_t number) {
  for (std::size_t i = 1; i <= count; ++i) {
    text[end - i] = static_cast<char>('0' + number % 10);
    number /= 10;
  }
}

/// Digit by digit: every status of an object has several times in it. Years have four digits,
/// within the range of TimePoint.
std::string date_and_seconds(const Civil& c) {
  std::string out = "0000-00-00T00:00:00";
  put_digits(out, 4, 4, static_cast<int>(c.date.year()));
  put_digits(out, 7, 2, static_cast<unsigned>(c.date.month()));
  put_digits(out, 10, 2, static_cast<unsigned>(c.date.day()));
  put_digits(out, 13, 2, c.time.hours().count());
  put_digits(out, 16, 2, c.time.minutes().count());
  put_digits(out, 19, 2, c.time.seconds().count());
  return out;
}

/// Nanoseconds of ".123456" at `pos`, which moves past the digits; digits beyond the ninth are
/// dropped.
std::optional<std::int64_t> fraction(std::string_view text, std::size_t& pos) {
  const std::size_t start = pos;
  std::int64_t value = 0;
  std::int64_t unit = kNanosPerSecond / 10;
  while (pos < text.size() && text[pos] >= '0' && text[pos] <= '9') {
    value += (text[pos] - '0') * unit;
    unit /= 10;
    ++pos;
  }
  return pos == start ? std::nullopt : std::optional(value);
}

struct Unit {
  std::string_view name;
  std::int64_t nanos;
};
constexpr std::array<Unit, 8> kUnits = {{{"ns", 1},
                                         {"us", 1'000},
                                         {"\u00b5s", 1'000},
                                         {"\u03bcs", 1'000},
                                         {"ms", 1'000'000},
                                         {"s", kNanosPerSecond},
                                         {"m", 60 * kNanosPerSecond},
                                         {"h", 3600 * kNanosPerSecond}}};

/// `part` billionths of a unit, in nanoseconds; both factors may need all of 64 bits.
std::int64_t scaled_fraction(std::int64_t part, std::int64_t unit_nanos) {
  const std::int64_t whole_seconds = unit_nanos / kNanosPerSecond;
  return part * whole_seconds + part * (unit_nanos % kNanosPerSecond) / kNanosPerSecond;
}

/// The unit at the start of `text`, longest name first ("ms" before "m").
const Unit* unit_at(std::string_view text) {
  const Unit* best = nullptr;
  for (const Unit& unit : kUnits) {
    if (text.starts_with(unit.name) && (best == nullptr || unit.name.size() > best->name.size())) {
      best = &unit;
    }
  }
  return best;
}

} // namespace

std::string to_rfc3339(TimePoint t) {
  return date_and_seconds(civil(t)) + "Z";
}

std::string to_rfc3339_micro(TimePoint t) {
  const Civil c = civil(t);
  return fmt::format("{}.{:06}Z", date_and_seconds(c), c.time.subseconds().count() / 1000);
}

Result<TimePoint> parse_rfc3339(std::string_view text) {
  const auto bad = [&] {
    return fail(Code::Invalid, fmt::format("not an RFC 3339 time: \"{}\"", text));
  };
  std::size_t pos = 0;
  const auto year = digits(text, pos, 4);
  if (!year || !take(text, pos, "-")) {
    return bad();
  }
  const auto month = digits(text, pos, 2);
  if (!month || !take(text, pos, "-")) {
    return bad();
  }
  const auto day = digits(text, pos, 2);
  if (!day || !take(text, pos, "Tt ")) {
    return bad();
  }
  const auto hour = digits(text, pos, 2);
  if (!hour || !take(text, pos, ":")) {
    return bad();
  }
  const auto minute = digits(text, pos, 2);
  if (!minute || !take(text, pos, ":")) {
    return bad();
  }
  const auto second = digits(text, pos, 2);
  if (!second) {
    return bad();
  }
  std::int64_t nanos = 0;
  if (take(text, pos, ".")) {
    const auto part = fraction(text, pos);
    if (!part) {
      return bad();
    }
    nanos = *part;
  }
  std::int64_t offset_minutes = 0;
  if (!take(text, pos, "Zz")) {
    const bool east = pos < text.size() && text[pos] == '+';
    if (!take(text, pos, "+-")) {
      return bad();
    }
    const auto hours = digits(text, pos, 2);
    if (!hours || !take(text, pos, ":")) {
      return bad();
    }
    const auto minutes = digits(text, pos, 2);
    if (!minutes) {
      return bad();
    }
    offset_minutes = (*hours * 60 + *minutes) * (east ? 1 : -1);
  }
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  // Nanoseconds in an int64 reach from 1678 to 2261.
  if (pos != text.size() || !date.ok() || *hour > 23 || *minute > 59 || *second > 60 ||
      *year < 1678 || *year > 2261) {
    return bad();
  }
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  const std::int64_t seconds =
      days * 86400 + *hour * 3600 + (*minute - offset_minutes) * 60 + *second;
  return TimePoint::from_unix_nanos(seconds * kNanosPerSecond + nanos);
}

Result<Duration> parse_duration(std::string_view text) {
  const auto bad = [&](std::string_view why) {
    return fail(
        Code::Invalid,
        fmt::format("not a duration such as \"90s\", \"5m\" or \"1h30m\": {}: \"{}\"", why, text));
  };
  if (text == "0") {
    return Duration();
  }
  if (text.empty()) {
    return bad("empty");
  }
  std::int64_t total = 0;
  std::size_t pos = 0;
  while (pos < text.size()) {
    std::int64_t whole = 0;
    const auto [end, ec] = std::from_chars(text.data() + pos, text.data() + text.size(), whole);
    const bool has_whole = ec == std::errc() && text[pos] != '-';
    if (ec == std::errc::result_out_of_range) {
      return bad("too long");
    }
    pos = has_whole ? static_cast<std::size_t>(end - text.data()) : pos;
    std::optional<std::int64_t> part;
    if (take(text, pos, ".")) {
      part = fraction(text, pos);
    }
    if (!has_whole && !part) {
      return bad("a number was expected");
    }
    const Unit* unit = unit_at(text.substr(pos));
    if (unit == nullptr) {
      return bad("a unit (ns, us, ms, s, m, h) was expected");
    }
    pos += unit->name.size();
    std::int64_t nanos = 0;
    if (__builtin_mul_overflow(whole, unit->nanos, &nanos) ||
        __builtin_add_overflow(nanos, scaled_fraction(part.value_or(0), unit->nanos), &nanos) ||
        __builtin_add_overflow(total, nanos, &total)) {
      return bad("too long");
    }
  }
  return Duration::nanos(total);
}

std::string to_string(Duration d) {
  std::int64_t n = d.count_nanos();
  if (n < 0) {
    return "-" + to_string(Duration::nanos(-n));
  }
  if (n < kNanosPerSecond && n > 0) {
    return n % 1'000'000 == 0 ? fmt::format("{}ms", n / 1'000'000)
           : n % 1'000 == 0   ? fmt::format("{}us", n / 1'000)
                              : fmt::format("{}ns", n);
  }
  const std::int64_t hours = n / (3600 * kNanosPerSecond);
  const std::int64_t minutes = n / (60 * kNanosPerSecond) % 60;
  const std::int64_t seconds = n / kNanosPerSecond % 60;
  std::string fraction_text;
  if (n % kNanosPerSecond != 0) {
    fraction_text = fmt::format(".{:09}", n % kNanosPerSecond);
    fraction_text.erase(fraction_text.find_last_not_of('0') + 1);
  }
  std::string out;
  if (hours > 0) {
    out += fmt::format("{}h", hours);
  }
  if (minutes > 0) {
    out += fmt::format("{}m", minutes);
  }
  if (seconds > 0 || !fraction_text.empty() || out.empty()) {
    out += fmt::format("{}{}s", seconds, fraction_text);
  }
  return out;
}

std::string to_age(Duration d) {
  const std::int64_t s = d.count_seconds();
  if (s < 0) {
    return "0s";
  }
  const auto two = [](std::int64_t a, char unit_a, std::int64_t b, char unit_b) {
    return b == 0 ? fmt::format("{}{}", a, unit_a) : fmt::format("{}{}{}{}", a, unit_a, b, unit_b);
  };
  const std::int64_t minutes = s / 60;
  const std::int64_t hours = s / 3600;
  const std::int64_t days = hours / 24;
  if (s < 120) {
    return fmt::format("{}s", s);
  }
  if (minutes < 10) {
    return two(minutes, 'm', s % 60, 's');
  }
  if (minutes < 180) {
    return fmt::format("{}m", minutes);
  }
  if (hours < 8) {
    return two(hours, 'h', minutes % 60, 'm');
  }
  if (hours < 48) {
    return fmt::format("{}h", hours);
  }
  if (hours < 192) {
    return two(days, 'd', hours % 24, 'h');
  }
  if (days < 730) {
    return fmt::format("{}d", days);
  }
  return days < 365 * 8 ? two(days / 365, 'y', days % 365, 'd') : fmt::format("{}y", days / 365);
}

} // namespace berth
