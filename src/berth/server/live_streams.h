// The streamed answers that go on: watches and followed logs. Counts them, and ends them all when
// the server is about to stop.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "berth/net/http.h"

namespace berth::server {

class LiveStreams {
 public:
  LiveStreams();
  ~LiveStreams();
  LiveStreams(const LiveStreams&) = delete;
  LiveStreams& operator=(const LiveStreams&) = delete;

  /// The answer's stream is one of these; `began` runs when it is begun, if it ever is, and `ended`
  /// once when nobody uses it any more. Precondition: the answer is streamed.
  void take(net::HttpResponse& response, std::function<void()> began, std::function<void()> ended);
  std::size_t count() const;
  /// Every reader sees the end of its answer, and every writer that its reader is gone.
  void end_all();

 private:
  class Stream;
  struct State;
  std::shared_ptr<State> state_;
};

} // namespace berth::server
