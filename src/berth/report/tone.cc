#include "berth/report/tone.h"

#include <fmt/format.h>

namespace berth::report {
namespace {

// The sixteen colours every terminal theme defines, so that light and dark themes both read well.
std::string_view escape_of(Tone tone) {
  switch (tone) {
  case Tone::Plain:
    return "";
  case Tone::Dim:
    return "\x1b[2m";
  case Tone::Strong:
    return "\x1b[1m";
  case Tone::Good:
    return "\x1b[32m";
  case Tone::Warn:
    return "\x1b[33m";
  case Tone::Bad:
    return "\x1b[31m";
  case Tone::Accent:
    return "\x1b[36m";
  }
  return "";
}

} // namespace

std::string Painter::operator()(Tone tone, std::string_view text) const {
  const std::string_view start = escape_of(tone);
  if (use_ == ColorUse::Never || start.empty() || text.empty()) {
    return std::string(text);
  }
  return fmt::format("{}{}\x1b[0m", start, text);
}

} // namespace berth::report
