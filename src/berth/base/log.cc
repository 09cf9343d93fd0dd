#include "berth/base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

namespace berth {
namespace {

spdlog::logger& logger() {
  static const std::shared_ptr<spdlog::logger> kLogger = [] {
    auto made = spdlog::stderr_color_st("berth");
    made->set_pattern("%^%l%$ %v");
    made->set_level(spdlog::level::warn);
    return made;
  }();
  return *kLogger;
}

spdlog::level::level_enum native(LogLevel level) {
  switch (level) {
  case LogLevel::Debug:
    return spdlog::level::debug;
  case LogLevel::Info:
    return spdlog::level::info;
  case LogLevel::Warn:
    return spdlog::level::warn;
  case LogLevel::Error:
    return spdlog::level::err;
  case LogLevel::Off:
    return spdlog::level::off;
  }
  return spdlog::level::off;
}

} // namespace

void set_log_level(LogLevel level) {
  logger().set_level(native(level));
}

LogLevel log_level() {
  switch (logger().level()) {
  case spdlog::level::trace:
  case spdlog::level::debug:
    return LogLevel::Debug;
  case spdlog::level::info:
    return LogLevel::Info;
  case spdlog::level::warn:
    return LogLevel::Warn;
  case spdlog::level::err:
  case spdlog::level::critical:
    return LogLevel::Error;
  default:
    return LogLevel::Off;
  }
}

void log(LogLevel level, std::string_view component, const std::string& text) {
  logger().log(native(level), "{}: {}", component, text);
}

} // namespace berth
