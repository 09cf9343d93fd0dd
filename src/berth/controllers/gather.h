// Waits for several answers of a Client and then goes on once: the join of a reconcile's parallel
// requests.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "berth/client/work_queue.h"

namespace berth::controllers {

/// Shared by the callbacks it hands out. `then` runs once: when closed and every expected answer
/// has come.
class Gather : public std::enable_shared_from_this<Gather> {
  struct Key {}; // makes the constructor make()'s own

 public:
  using Then = std::function<void(client::Outcome)>;

  static std::shared_ptr<Gather> make(Then then);
  Gather(Key, Then then);

  /// One more answer to wait for. Call the result once, with Retry if the request failed in a way
  /// to repeat.
  std::function<void(client::Outcome)> expect();
  /// No more requests follow.
  void close();

 private:
  void answered(client::Outcome outcome);
  void finish_if_done();

  Then then_;
  std::size_t waiting_ = 0;
  bool closed_ = false;
  client::Outcome worst_ = client::Outcome::Done;
};

} // namespace berth::controllers
