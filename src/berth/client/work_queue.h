// Keyed work with per-key exponential backoff: the heart of every reconciler. Rules of client-go
// util/workqueue (a key added while it is worked on runs again afterwards; equal keys collapse; 5
// ms doubling up to 1000 s).
#pragma once

#include <functional>
#include <memory>

#include "berth/api/object.h"
#include "berth/base/loop.h"
#include "berth/base/time.h"

namespace berth::client {

/// How work on a key ended.
enum class Outcome {
  Done, ///< forgets the key's failures
  Retry ///< again after the key's backoff
};

/// Order: keys run in the order in which they became due. No timer exists while nothing waits.
class WorkQueue {
 public:
  using Finish = std::function<void(Outcome)>;
  /// Works on one key. `finish` must be called, at once or later, exactly once; until then the key
  /// is not handed out again.
  using Reconcile = std::function<void(const api::Key& key, Finish finish)>;
  struct Options {
    std::size_t workers = 1; ///< keys worked on at one time
    Duration first_backoff = Duration::millis(5);
    Duration longest_backoff = Duration::seconds(1000);
  };

  WorkQueue(Loop& loop, Reconcile reconcile) : WorkQueue(loop, std::move(reconcile), Options()) {}
  WorkQueue(Loop& loop, Reconcile reconcile, Options options);
  ~WorkQueue();
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  /// Makes the key due now, in a later task. What it already waits for stays.
  void add(const api::Key& key);
  /// Makes the key due after `delay`, or earlier if it already waits for less.
  void add_after(const api::Key& key, Duration delay);
  /// Makes the key due after its backoff, which doubles.
  void add_backed_off(const api::Key& key);
  /// Says that the work begun on the key looks at so many objects: it is begun again after 20 us
  /// for each of them at the earliest, so that a crowd whose members change one by one costs no
  /// square. Fewer than 64 are looked at whenever they change.
  void looks_at(const api::Key& key, std::size_t objects);
  /// Resets the key's backoff and drops its waiting timer; work already due still runs.
  void forget(const api::Key& key);

  /// Failures of the key since it was last done.
  int failures(const api::Key& key) const;
  /// Nothing is due, waiting or being worked on.
  bool idle() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

} // namespace berth::client
