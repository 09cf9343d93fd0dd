// Waiting for NVML's events. The library offers a blocking wait alone, so it has a thread of its
// own, which does nothing but wait and report.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "berth/inventory/nvml_library.h"

namespace berth::inventory::nvml {

struct Report {
  enum class Kind {
    Xid,           ///< `data` is the Xid
    DoubleBitEcc,  ///< an error that ECC could not correct
    SomethingLost, ///< the library says that a GPU is lost, not which
    Failed,        ///< the wait failed otherwise
    Quiet,         ///< nothing happened for one wait; only while asked for
  };
  Kind kind = Kind::Quiet;
  int gpu = -1; ///< index; -1: not said
  std::uint64_t data = 0;
  int gpu_instance = -1; ///< -1: the whole GPU
  int compute_instance = -1;
};

class EventWatch {
 public:
  /// `report` is called on the watch's thread. Its destructor waits for the wait under way to end,
  /// at most `wait_ms`. `library` outlives it. GPUs whose events cannot be had are in unwatched().
  EventWatch(const Library& library, const std::vector<Device>& devices, unsigned wait_ms,
             std::function<void(const Report&)> report);
  ~EventWatch();
  EventWatch(const EventWatch&) = delete;
  EventWatch& operator=(const EventWatch&) = delete;

  /// Indices of GPUs of which no event will be reported.
  const std::vector<int>& unwatched() const { return unwatched_; }
  /// Whether waits that end without an event are reported: while something may change that the
  /// library has no event for.
  void want_quiet(bool wanted) { want_quiet_ = wanted; }

 private:
  void run(const std::stop_token& stop);
  void pause(const std::stop_token& stop);
  Report report_of(const EventData& data) const;

  const Library& library_;
  std::vector<Device> devices_;
  unsigned wait_ms_;
  std::function<void(const Report&)> report_;
  std::vector<int> unwatched_;
  EventSet set_ = nullptr;
  std::atomic<bool> want_quiet_ = false;
  std::mutex mutex_; ///< of the pause alone
  std::condition_variable_any wake_;
  std::jthread thread_; ///< last: it is joined before what it uses goes
};

} // namespace berth::inventory::nvml
