// The options of GET pods/NAME/log, and which lines of a log they let through. Source:
// core/v1 PodLogOptions, pkg/apis/core/validation ValidatePodLogOptions, kubelet kuberuntime/logs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "berth/server/nodes.h"
#include "berth/server/request_info.h"
#include "berth/server/status.h"

namespace berth::server {

struct LogLine {
  TimePoint at;
  std::string text; ///< without a line break
};

/// Errors: 400 for what cannot be parsed, 422 in validation's words.
Answer<LogOptions> log_options(const std::string& pod, const net::HttpHeaders& query,
                               TimePoint now);

/// "2026-01-02T03:04:05.123456789Z ", as lines begin that have their time before them.
std::string log_stamp(TimePoint at);

/// Turns a log into the bytes of an answer, piece by piece as the log grows: the last lines of what
/// there is at first, those that are late enough, up to the limit.
class LogWriter {
 public:
  explicit LogWriter(LogOptions options) : options_(std::move(options)) {}

  /// Of a log that only ever grows: what has not been told yet. O(lines).
  std::string more(std::span<const LogLine> lines);
  /// The limit is reached: nothing more will come.
  bool full() const { return options_.limit_bytes && *options_.limit_bytes <= 0; }

 private:
  LogOptions options_;
  bool begun_ = false;
  std::size_t told_ = 0;
};

} // namespace berth::server
