// A container's log as container runtimes write it for CRI: a line each,
// "2026-01-02T03:04:05.123456789Z stdout F text". P instead of F: the line goes on in the next
// entry. Source: CRI's logging design; kubelet kuberuntime/logs/logs.go.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "berth/base/time.h"
#include "berth/server/nodes.h"

namespace berth::kubelet {

struct CriEntry {
  enum class Tag { Full, Partial };
  std::string_view stamp; ///< the time as written
  TimePoint at;
  std::string_view stream; ///< "stdout" or "stderr"
  Tag tag = Tag::Full;
  std::string_view text;
};

/// nullopt: it is no such entry. `line` without its line break; the entry's texts are parts of it.
std::optional<CriEntry> parse_cri_entry(std::string_view line);

/// Turns the bytes of a log file into what is told of it, piece by piece: lines joined again, those
/// that are late enough, up to the limit. What is no entry is left out, as kubelets do. Keeps less
/// than one entry.
class CriLogTeller {
 public:
  explicit CriLogTeller(const server::LogOptions& options);

  std::string tell(std::string_view bytes);
  /// The limit is reached: nothing more will come.
  bool full() const { return left_ && *left_ <= 0; }

 private:
  void tell_entry(std::string_view line, std::string& out);
  void append(std::string_view text, std::string& out);

  bool timestamps_;
  std::optional<TimePoint> since_;
  std::optional<std::int64_t> left_; ///< bytes of the limit
  std::string pending_;              ///< of an entry whose end has not come
  bool too_long_ = false;            ///< what is pending is left out
  bool in_line_ = false;             ///< the line of the next entry has begun
  bool told_ = true;                 ///< and is told
};

/// Where the last `lines` lines of a log of `size` bytes begin; entries that are parts of one line
/// count once. Reads backwards through `read_at`. O(bytes from there on), constant memory.
std::uint64_t
tail_begin(std::uint64_t size, std::int64_t lines,
           const std::function<std::string(std::uint64_t at, std::size_t bytes)>& read_at);

} // namespace berth::kubelet
