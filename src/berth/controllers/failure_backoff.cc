#include "berth/controllers/failure_backoff.h"

#include <algorithm>

namespace berth::controllers {

TimePoint FailureBackoff::due(const std::string& key) const {
  const auto held = entries_.find(key);
  return held == entries_.end() ? TimePoint() : held->second.since + held->second.wait;
}

void FailureBackoff::failed(const std::string& key, TimePoint now) {
  sweep(now);
  const auto [held, fresh] = entries_.try_emplace(key, Entry{.wait = first_, .since = now});
  if (!fresh) {
    held->second.wait = std::min(held->second.wait * 2, longest_);
    held->second.since = now;
  }
}

void FailureBackoff::sweep(TimePoint now) {
  std::erase_if(entries_,
                [&](const auto& entry) { return entry.second.since + longest_ * 2 < now; });
}

} // namespace berth::controllers
