#include "berth/cel/time_text.h"

#include <fmt/format.h>

namespace berth::cel {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

/// ".5" of half a second; "" of none.
std::string fraction(std::int64_t nanos) {
  if (nanos == 0) {
    return "";
  }
  std::string digits = fmt::format("{:09}", nanos);
  digits.erase(digits.find_last_not_of('0') + 1);
  return "." + digits;
}

} // namespace

Result<Duration> parse_signed_duration(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) {
    text.remove_prefix(1);
  }
  BERTH_TRY(const Duration read, parse_duration(text));
  return negative ? read * -1 : read;
}

std::string seconds_text(Duration span) {
  const std::int64_t nanos = span.count_nanos();
  const auto size =
      nanos < 0 ? 0 - static_cast<std::uint64_t>(nanos) : static_cast<std::uint64_t>(nanos);
  return fmt::format("{}{}{}s", nanos < 0 ? "-" : "", size / kSecond,
                     fraction(static_cast<std::int64_t>(size % kSecond)));
}

std::string to_rfc3339_nano(TimePoint time) {
  const std::int64_t nanos = (time.unix_nanos() % kSecond + kSecond) % kSecond;
  std::string out = to_rfc3339(time - Duration::nanos(nanos));
  out.insert(out.size() - 1, fraction(nanos));
  return out;
}

} // namespace berth::cel
