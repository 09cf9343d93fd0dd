#include "berth/sched/message.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace berth::sched {

std::string render_histogram(const ReasonHistogram& histogram) {
  std::vector<std::string> entries;
  entries.reserve(histogram.size());
  for (const auto& [reason, count] : histogram) {
    entries.push_back(fmt::format("{} {}", count, reason));
  }
  std::ranges::sort(entries);
  return fmt::format("{}", fmt::join(entries, ", "));
}

std::string failed_scheduling_message(std::int64_t nodes, std::string_view prefilter,
                                      const ReasonHistogram& histogram,
                                      std::string_view post_filter) {
  std::string text = fmt::format("0/{} nodes are available:", nodes);
  if (!prefilter.empty()) {
    text += fmt::format(" {}.", prefilter);
  } else if (!histogram.empty()) {
    text += fmt::format(" {}.", render_histogram(histogram));
  }
  if (!post_filter.empty()) {
    text += fmt::format(" {}", post_filter);
  }
  return text;
}

std::string event_note(std::string_view message) {
  constexpr std::size_t kNoteLimit = 1024;
  constexpr std::string_view kSuffix = " ...";
  if (message.size() <= kNoteLimit) {
    return std::string(message);
  }
  std::size_t end = kNoteLimit - kSuffix.size();
  // Never cut inside a UTF-8 sequence.
  while (end > 0 && (static_cast<unsigned char>(message[end]) & 0xC0U) == 0x80U) {
    --end;
  }
  return std::string(message.substr(0, end)).append(kSuffix);
}

} // namespace berth::sched
