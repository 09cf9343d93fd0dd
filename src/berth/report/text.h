// Text as a terminal shows it: width in columns, clipping, wrapping, and making foreign text
// harmless.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/time.h"

namespace berth::report {

/// Columns the text takes: UTF-8 code points, two for East Asian wide ones, none for combining
/// marks.
std::size_t display_width(std::string_view text);

/// The text itself if it fits, else its start and "...", exactly `width` columns or fewer.
std::string clip(std::string_view text, std::size_t width);

/// One harmless line: line breaks and tabs become blanks, other control characters and broken UTF-8
/// become "?". Everything that came from a manifest passes through here before it reaches a
/// terminal.
std::string printable(std::string_view text);

/// Words filled into lines of at most `width` columns; a longer word gets a line of its own. An
/// empty line stays.
std::vector<std::string> wrap(std::string_view text, std::size_t width);

/// "478 GB/s", "23.4 GB/s", "-" for zero. One decimal below 100 GB/s, rounded half up.
std::string format_bandwidth(std::int64_t mbps);

/// For tables: milliseconds below a second, tenths below a minute, whole seconds below an hour,
/// minutes above: "350ms", "4.2s", "2m5s", "3h20m". Cut, never rounded up: what is shown has been
/// reached.
std::string format_brief(Duration d);

/// For timelines: "0:10:02.345".
std::string format_clock(Duration d);

/// "1 pod", "2 pods".
std::string counted(std::size_t n, std::string_view noun);

} // namespace berth::report
