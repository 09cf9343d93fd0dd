// How log lines look: for people, or for programs that collect them.
#pragma once

namespace berth {

enum class LogFormat {
  Brief, ///< level and text, for a terminal
  Text,  ///< with the time, for a file
  Json,  ///< one object a line: ts (RFC 3339, UTC), level, component, msg
};

/// Set once by the command line, before components run; Brief at start.
void set_log_format(LogFormat format);

} // namespace berth
