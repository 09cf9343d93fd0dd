// The pod garbage collector: pods whose node object is gone, deleted pods that nobody will end, and
// finished pods beyond a number. Rules: the Kubernetes pod garbage collector; event-driven instead
// of every 20 s.
#pragma once

#include <cstddef>
#include <memory>

#include "berth/base/loop.h"
#include "berth/base/time.h"
#include "berth/client/client.h"

namespace berth::controllers {

class PodGc {
 public:
  struct Options {
    std::size_t terminated_threshold = 12500; ///< finished pods kept; 0: all
    /// A node must be gone for this long before its pods go, for it may be re-created.
    Duration quarantine = Duration::seconds(40);
  };

  PodGc(client::Client& client, Loop& loop) : PodGc(client, loop, Options()) {}
  PodGc(client::Client& client, Loop& loop, const Options& options);
  ~PodGc();
  PodGc(const PodGc&) = delete;
  PodGc& operator=(const PodGc&) = delete;

  /// Nothing is queued, under way or due later.
  bool idle() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

} // namespace berth::controllers
