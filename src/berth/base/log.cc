#include "berth/base/log.h"

#include <boost/json/serialize.hpp>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "berth/base/log_format.h"

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

LogFormat& format() {
  static LogFormat kept = LogFormat::Brief;
  return kept;
}

const char* pattern_of(LogFormat format) {
  switch (format) {
  case LogFormat::Brief:
    return "%^%l%$ %v";
  case LogFormat::Text:
    return "%Y-%m-%dT%H:%M:%S.%eZ %^%l%$ %v";
  case LogFormat::Json:
    return R"({"ts":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",%v})";
  }
  return "%v";
}

std::string quoted(std::string_view text) {
  return boost::json::serialize(boost::json::string(text));
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

void set_log_format(LogFormat wanted) {
  format() = wanted;
  logger().set_pattern(pattern_of(wanted), spdlog::pattern_time_type::utc);
}

void log(LogLevel level, std::string_view component, const std::string& text) {
  if (!logger().should_log(native(level))) {
    return;
  }
  if (format() == LogFormat::Json) {
    logger().log(native(level), R"("component":{},"msg":{})", quoted(component), quoted(text));
    return;
  }
  logger().log(native(level), "{}: {}", component, text);
}

} // namespace berth
