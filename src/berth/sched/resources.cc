#include "berth/sched/resources.h"

#include <algorithm>

namespace berth::sched {
void Resources::set(ResourceId id, std::int64_t amount) {
  if (id.index() < kInlineResources) {
    inline_[id.index()] = amount;
    return;
  }
  const auto it =
      std::ranges::lower_bound(others_, id, {}, &std::pair<ResourceId, std::int64_t>::first);
  const bool present = it != others_.end() && it->first == id;
  if (amount == 0) {
    if (present) {
      others_.erase(it);
    }
  } else if (present) {
    it->second = amount;
  } else {
    others_.insert(it, {id, amount});
  }
}

} // namespace berth::sched
