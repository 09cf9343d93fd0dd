// Who hears of a change: watches of one kind, found by what they select, so that a write costs what
// it concerns and not the number of watches. Selection rule of apiserver's watch cache: entering
// shows as Added, leaving as Deleted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "berth/store/request.h"
#include "berth/store/store.h"

namespace berth::store {

/// One write as history keeps it.
struct Change {
  std::uint64_t revision = 0;
  api::Object before; ///< empty when created
  api::Object now;    ///< for a removal the last state
  enum class Kind { Put, Erase } kind = Kind::Put;
};

/// What a watch of `what` shows of a change; nullopt: nothing. O(1) for what the index selects by.
std::optional<WatchEvent> event_for(const ListOptions& what, const Change& change);

/// Watches are kept in one bucket each: node, else name, else namespace, else all. Delivery order
/// is fixed: all, namespace, name, node; within a bucket by subscription.
class WatchIndex {
 public:
  using WatchId = std::uint64_t;

  WatchId add(const WatchOptions& options, Sink sink);
  void remove(WatchId id);
  std::size_t size() const { return places_.size(); }

  /// O(watches concerned).
  void deliver(const Change& change) const;
  /// Tells every watch that asked for bookmarks. O(watches).
  void bookmark(std::uint64_t revision) const;

 private:
  struct Watcher {
    WatchOptions options;
    Sink sink;
  };
  using Bucket = std::map<WatchId, Watcher>;
  using Buckets = std::unordered_map<std::string, Bucket>;
  enum class Axis : std::size_t { All, Namespace, Name, Node };
  struct Place {
    Axis axis;
    std::string value;
  };

  Buckets& of(Axis axis) { return axes_[static_cast<std::size_t>(axis)]; }
  const Buckets& of(Axis axis) const { return axes_[static_cast<std::size_t>(axis)]; }
  static Place place_of(const ListOptions& what);
  void deliver_to(Axis axis, const std::string& value, const Change& change) const;

  WatchId next_ = 1;
  std::array<Buckets, 4> axes_;
  std::map<WatchId, Place> places_;
};

} // namespace berth::store
