// Which of a component's events become objects, which raise a count, which are dropped. The
// deciding part of EventRecorder; rules of client-go tools/record/events_cache.go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "berth/base/time.h"

namespace berth::client {

/// What makes events equal or similar. `about` names the object with its uid.
struct EventKey {
  std::string about;
  std::string type;
  std::string reason;
  std::string message;
  bool operator==(const EventKey&) const = default;
};

/// What shall be written.
struct Correlated {
  std::string name;    ///< of the Event object; "" when it is a new one
  std::string message; ///< as given, or combined
  std::int64_t count = 1;
  TimePoint first;
};

/// Keeps the last `kMemory` of each kind of key, least recently used out first. O(1) an event.
class EventCorrelator {
 public:
  /// nullopt: dropped as spam.
  std::optional<Correlated> observe(const EventKey& event, TimePoint now);
  /// The object that the last observe() of this event was written to.
  void written_as(const EventKey& event, const Correlated& correlated, std::string name);

 private:
  static constexpr std::size_t kMemory = 4096;
  static constexpr std::size_t kSimilar = 10;

  struct Hash {
    std::size_t operator()(const EventKey& key) const;
    std::size_t operator()(const std::string& about) const;
  };
  /// A map that forgets its least recently used entries.
  template <class K, class V> class Recent {
   public:
    Recent() = default;
    Recent(const Recent&) = delete; // its index points into it
    Recent& operator=(const Recent&) = delete;

    V& operator[](const K& key);

   private:
    using Entries = std::list<std::pair<K, V>>;
    struct HashOf {
      std::size_t operator()(const K* key) const { return Hash()(*key); }
    };
    struct SameKey {
      bool operator()(const K* a, const K* b) const { return *a == *b; }
    };

    Entries entries_; ///< most recently used first
    std::unordered_map<const K*, typename Entries::iterator, HashOf, SameKey> index_; ///< of them
  };
  struct Similar {
    std::set<std::string> messages;
    std::optional<TimePoint> last;
  };
  struct Seen {
    std::string name;
    std::int64_t count = 0;
    TimePoint first;
  };
  /// A token bucket: burst kBurst, one token every kRefill.
  struct Bucket {
    std::int64_t used_nanos = 0; ///< tokens used, as time until they are back
    TimePoint at;
  };

  bool allowed(const std::string& about, TimePoint now);
  bool collapses(const EventKey& event, TimePoint now);

  Recent<EventKey, Similar> similar_; ///< message ""
  Recent<EventKey, Seen> seen_;       ///< message "" for combined ones
  Recent<std::string, Bucket> buckets_;
};

} // namespace berth::client
