// A gRPC client over a socket, in bytes: what is said is for the callers to encode (see
// typed.h). gRPC's own threads end here; every callback is a task of the loop.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "berth/base/result.h"
#include "berth/base/time.h"

namespace berth::net {
class AsioLoop;
}

namespace berth::rpc {

struct CallOptions {
  /// From the call to its answer; Duration::max(): as long as it takes.
  Duration timeout = Duration::max();
  /// What to do while nobody listens on the socket.
  enum class Absent { Fail, Wait } absent = Absent::Fail;
};

/// A running stream of messages. Dropping it hangs up; nothing is delivered afterwards.
class Stream {
 public:
  virtual ~Stream() = default;
};

/// Connects when first used, and again after the other side was gone. Belongs to the loop's thread;
/// destroying it abandons the calls in flight, whose callbacks then never come. The loop must
/// outlive it.
class Channel {
 public:
  /// `socket` is a path, with or without "unix://" before it, or "tcp://HOST:PORT", in the clear.
  Channel(net::AsioLoop& loop, std::string_view socket);
  /// Over a connected, non-blocking socket, which is the channel's from now on; `authority` is whom
  /// requests name. Once the connection is lost, every call fails.
  Channel(net::AsioLoop& loop, int connected, const std::string& authority);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  /// Somebody listens on the socket and speaks gRPC. False until a call has connected.
  bool connected() const;
  /// `method` is a full path, "/v1beta1.Registration/Register". Errors: Unavailable (nobody
  /// listens, or the connection broke), Timeout, and what the other side answered.
  void unary(std::string method, std::string request, CallOptions options,
             std::function<void(Result<std::string>)> done);
  /// One request, many messages; `on_end` is last. A message is taken from the connection once the
  /// one before it has been delivered, so a talkative peer waits.
  std::unique_ptr<Stream> stream(std::string method, std::string request,
                                 std::function<void(std::string)> on_message,
                                 std::function<void(Result<void>)> on_end);

 private:
  struct State;
  struct StreamCall;
  struct StreamHandle;
  std::shared_ptr<State> state_;
};

} // namespace berth::rpc
