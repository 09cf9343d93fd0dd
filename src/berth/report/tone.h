// Colour by meaning. A Tone says what a word is, a Painter whether and how a terminal shows it;
// without colour the text alone says the same. Rules: NO_COLOR, CLICOLOR and TERM=dumb are the
// terminal's business (cli/terminal.h).
#pragma once

#include <string>
#include <string_view>

namespace berth::report {

enum class Tone { Plain, Dim, Strong, Good, Warn, Bad, Accent };

enum class ColorUse { Never, Always };

class Painter {
 public:
  Painter() = default;
  explicit Painter(ColorUse use) : use_(use) {}

  /// The text wrapped in the tone's escape sequence, or as it is.
  std::string operator()(Tone tone, std::string_view text) const;

 private:
  ColorUse use_ = ColorUse::Never;
};

} // namespace berth::report
