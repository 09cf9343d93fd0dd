// Times and durations as expressions read and write them: Go's forms, negative durations too.
#pragma once

#include <string>
#include <string_view>

#include "berth/base/result.h"
#include "berth/base/time.h"

namespace berth::cel {

/// "-1h30m".
Result<Duration> parse_signed_duration(std::string_view text);
/// "5400s", "-0.5s".
std::string seconds_text(Duration span);
/// "2026-01-02T03:04:05.000000006Z", without zeros at the end.
std::string to_rfc3339_nano(TimePoint time);

} // namespace berth::cel
