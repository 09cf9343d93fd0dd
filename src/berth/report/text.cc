#include "berth/report/text.h"

#include <algorithm>

#include <fmt/format.h>

namespace berth::report {
namespace {

struct CodePoint {
  char32_t value = 0;
  std::size_t bytes = 1;
  bool valid = false;
};

// Decodes the code point at the start of `text` (not empty); overlong forms and surrogates are
// invalid.
CodePoint decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) {
    return {lead, 1, true};
  }
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) {
    return {};
  }
  char32_t value = lead & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) {
      return {};
    }
    value = (value << 6U) | (byte(i) & 0x3FU);
  }
  const bool overlong = (length == 3 && value < 0x800) || (length == 4 && value < 0x10000);
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (overlong || surrogate || value > 0x10FFFF) {
    return {};
  }
  return {value, length, true};
}

std::size_t columns_of(char32_t c) {
  if ((c >= 0x300 && c <= 0x36F) || (c >= 0x200B && c <= 0x200F) || (c >= 0xFE00 && c <= 0xFE0F)) {
    return 0;
  }
  const bool wide = (c >= 0x1100 && c <= 0x115F) || (c >= 0x2E80 && c <= 0xA4CF) ||
                    (c >= 0xAC00 && c <= 0xD7A3) || (c >= 0xF900 && c <= 0xFAFF) ||
                    (c >= 0xFE30 && c <= 0xFE6F) || (c >= 0xFF00 && c <= 0xFF60) ||
                    (c >= 0xFFE0 && c <= 0xFFE6) || (c >= 0x1F300 && c <= 0x1FAFF) ||
                    (c >= 0x20000 && c <= 0x3FFFD);
  return wide ? 2 : 1;
}

// Direction overrides could make a line read as something else.
bool is_control(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c <= 0x9F) || (c >= 0x202A && c <= 0x202E) ||
         (c >= 0x2066 && c <= 0x2069);
}

Duration cut_to(Duration d, std::int64_t unit) {
  return Duration::nanos(d.count_nanos() / unit * unit);
}

} // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const CodePoint c = decode(text);
    width += c.valid ? columns_of(c.value) : 1;
    text.remove_prefix(c.bytes);
  }
  return width;
}

std::string clip(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) {
    return std::string(text);
  }
  const std::string_view dots = std::string_view("...").substr(0, width);
  const std::size_t room = width - dots.size();
  std::string out;
  std::size_t used = 0;
  while (!text.empty()) {
    const CodePoint c = decode(text);
    const std::size_t columns = c.valid ? columns_of(c.value) : 1;
    if (used + columns > room) {
      break;
    }
    out += text.substr(0, c.bytes);
    used += columns;
    text.remove_prefix(c.bytes);
  }
  return out.append(dots);
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const CodePoint c = decode(text);
    if (c.valid && (c.value == '\n' || c.value == '\t' || c.value == '\r')) {
      out += ' ';
    } else if (!c.valid || is_control(c.value)) {
      out += '?';
    } else {
      out += text.substr(0, c.bytes);
    }
    text.remove_prefix(c.bytes);
  }
  return out;
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  std::string line;
  std::size_t used = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) {
      continue;
    }
    const std::size_t columns = display_width(word);
    if (!line.empty() && used + 1 + columns > width) {
      lines.push_back(std::move(line));
      line.clear();
      used = 0;
    }
    if (!line.empty()) {
      line += ' ';
      ++used;
    }
    line += word;
    used += columns;
  }
  lines.push_back(std::move(line));
  return lines;
}

std::string format_bandwidth(std::int64_t mbps) {
  if (mbps <= 0) {
    return "-";
  }
  const std::int64_t tenths = (mbps + 50) / 100;
  if (tenths >= 1000) {
    return fmt::format("{} GB/s", (mbps + 500) / 1000);
  }
  return fmt::format("{}.{} GB/s", tenths / 10, tenths % 10);
}

std::string format_brief(Duration d) {
  if (d < Duration::seconds(1)) {
    return to_string(cut_to(d, 1'000'000));
  }
  if (d < Duration::minutes(1)) {
    return to_string(cut_to(d, 100'000'000));
  }
  if (d < Duration::hours(1)) {
    return to_string(cut_to(d, 1'000'000'000));
  }
  return to_string(cut_to(d, 60'000'000'000));
}

std::string format_clock(Duration d) {
  const std::int64_t ms = d.count_millis();
  const std::int64_t s = ms / 1000;
  return fmt::format("{}:{:02}:{:02}.{:03}", s / 3600, s / 60 % 60, s % 60, ms % 1000);
}

std::string counted(std::size_t n, std::string_view noun) {
  return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s");
}

} // namespace berth::report
