// The part of an informer that decides: which of a list or an event is news, whatever order it
// comes in.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "berth/client/client.h"

namespace berth::client {

/// One step of an object's story; `before` is empty when it appears, `now` when it goes.
struct Difference {
  api::Object before;
  api::Object now;
};

/// Objects as of some revision plus what is known to have gone since, so that late news of the dead
/// is not believed. apply() and replace() only say what changes; hold() makes one change, so that a
/// reader sees the cache as of the step it is told of.
class ObjectCache {
 public:
  /// O(log n). Old news gives no difference; another uid under the same name gives two.
  std::vector<Difference> apply(const WatchEvent& event);
  /// Every difference between what is held and the list: first what has gone, then the rest, by
  /// key. O(n).
  std::vector<Difference> replace(const ObjectList& list);
  void hold(const Difference& difference);

  const std::map<api::Key, api::Object>& objects() const { return objects_; }
  /// The highest resourceVersion seen.
  std::uint64_t newest() const { return newest_; }

 private:
  void forget_long_dead();

  std::map<api::Key, api::Object> objects_;
  std::map<api::Key, std::uint64_t> gone_; ///< deletions after the last list, by their revision
  std::uint64_t listed_ = 0;               ///< events up to here are old news
  std::uint64_t newest_ = 0;
};

} // namespace berth::client
