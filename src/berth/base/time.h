// Time as int64 nanoseconds of a Loop: strong types, text forms of Kubernetes (RFC 3339, Go
// durations, kubectl's ages). Never double, never system_clock outside base/.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "berth/base/result.h"

namespace berth {

/// A span of time, in nanoseconds. Range: about 292 years either way.
class Duration {
 public:
  constexpr Duration() = default;
  static constexpr Duration nanos(std::int64_t n) { return Duration(n); }
  static constexpr Duration micros(std::int64_t n) { return Duration(n * 1'000); }
  static constexpr Duration millis(std::int64_t n) { return Duration(n * 1'000'000); }
  static constexpr Duration seconds(std::int64_t n) { return Duration(n * 1'000'000'000); }
  static constexpr Duration minutes(std::int64_t n) { return seconds(n * 60); }
  static constexpr Duration hours(std::int64_t n) { return seconds(n * 3600); }
  static constexpr Duration max() { return Duration(INT64_MAX); }

  constexpr std::int64_t count_nanos() const { return nanos_; }
  constexpr std::int64_t count_millis() const { return nanos_ / 1'000'000; }
  constexpr std::int64_t count_seconds() const { return nanos_ / 1'000'000'000; }

  constexpr auto operator<=>(const Duration&) const = default;
  constexpr Duration operator+(Duration o) const { return Duration(nanos_ + o.nanos_); }
  constexpr Duration operator-(Duration o) const { return Duration(nanos_ - o.nanos_); }
  constexpr Duration operator*(std::int64_t k) const { return Duration(nanos_ * k); }
  constexpr Duration operator/(std::int64_t k) const { return Duration(nanos_ / k); }
  constexpr Duration& operator+=(Duration o) {
    nanos_ += o.nanos_;
    return *this;
  }

 private:
  constexpr explicit Duration(std::int64_t n) : nanos_(n) {}
  std::int64_t nanos_ = 0;
};

/// An instant: nanoseconds since 1970-01-01T00:00:00Z on the Loop's own clock.
class TimePoint {
 public:
  constexpr TimePoint() = default;
  static constexpr TimePoint from_unix_nanos(std::int64_t n) { return TimePoint(n); }
  static constexpr TimePoint from_unix_seconds(std::int64_t s) {
    return TimePoint(s * 1'000'000'000);
  }
  static constexpr TimePoint max() { return TimePoint(INT64_MAX); }

  constexpr std::int64_t unix_nanos() const { return nanos_; }
  constexpr std::int64_t unix_seconds() const { return nanos_ / 1'000'000'000; }

  constexpr auto operator<=>(const TimePoint&) const = default;
  constexpr TimePoint operator+(Duration d) const { return TimePoint(nanos_ + d.count_nanos()); }
  constexpr TimePoint operator-(Duration d) const { return TimePoint(nanos_ - d.count_nanos()); }
  constexpr Duration operator-(TimePoint o) const { return Duration::nanos(nanos_ - o.nanos_); }

 private:
  constexpr explicit TimePoint(std::int64_t n) : nanos_(n) {}
  std::int64_t nanos_ = 0;
};

/// "2026-01-02T03:04:05Z": metav1.Time, whole seconds.
std::string to_rfc3339(TimePoint t);
/// "2026-01-02T03:04:05.000006Z": metav1.MicroTime.
std::string to_rfc3339_micro(TimePoint t);
/// Reads both forms and numeric zone offsets.
Result<TimePoint> parse_rfc3339(std::string_view text);

/// Go's duration text: "1h30m", "5m", "1.5s", "300ms"; a bare "0" is allowed. Negative values are
/// errors.
Result<Duration> parse_duration(std::string_view text);
/// Shortest of Go's forms: "1h30m", "2m5s", "1.5s", "300ms", "0s".
std::string to_string(Duration d);
/// kubectl's age: "5s", "2m30s", "14m", "3h20m", "2d4h", "45d", "3y2d".
std::string to_age(Duration d);

} // namespace berth
