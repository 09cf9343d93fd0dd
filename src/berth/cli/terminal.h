// Where a command's words go, and what the other side can show. Handed in, so that tests need no
// terminal.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

#include "berth/report/tone.h"

namespace berth::cli {

/// One output stream: a terminal of some width, or a pipe or file.
struct Stream {
  std::ostream* to = nullptr;
  bool tty = false;
  std::optional<std::size_t> width = {}; ///< none when not a terminal
  report::Painter paint = {};
};

struct Terminal {
  Stream out;                    ///< results
  Stream err;                    ///< progress, notes, warnings, errors
  std::string program = "berth"; ///< as help names it: "kubectl berth" when installed as a plugin
  std::string version = "berth"; ///< "berth 0.1.0 (commit 1a2b3c4d5e6f)"

  void note(std::string_view text);
  void warn(std::string_view text);
  /// "error: TEXT" and, if there is one, "; try TRY".
  void error(std::string_view text, std::string_view try_this = "");
};

enum class ColorChoice { Auto, Always, Never };

/// Reads an environment variable; nullopt if unset.
using Environment = std::function<std::optional<std::string>(const char*)>;

/// Auto: only on a terminal, and not with NO_COLOR set, CLICOLOR=0 or TERM=dumb; CLICOLOR_FORCE
/// colours pipes too.
report::ColorUse decide_color(ColorChoice choice, bool tty, const Environment& env);

/// The process's own streams. Width: COLUMNS, else what the terminal says, else 80.
Terminal process_terminal(std::string_view argv0, const Environment& env);
/// Writes out what is buffered. A result that could not be written to `out` is told, and makes a
/// success a failure; not so where the reader of a pipe, such as head, has had enough. Returns the
/// exit code.
int finish_output(Terminal& terminal, int out, int code);
/// getenv.
Environment process_environment();

} // namespace berth::cli
