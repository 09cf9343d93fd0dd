// Diagnostics on stderr for the acting wing. Results never go through here. The deciding wing does
// not log.
#pragma once

#include <string>
#include <string_view>

namespace berth {

enum class LogLevel { Debug, Info, Warn, Error, Off };

/// The process's verbosity; Warn at start. Set once by the command line, before components run.
void set_log_level(LogLevel level);
LogLevel log_level();
/// One line: level, component ("scheduler"), text.
void log(LogLevel level, std::string_view component, const std::string& text);

} // namespace berth
