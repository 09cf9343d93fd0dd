// A gRPC server on a unix socket, in bytes (see typed.h for messages). Handlers are tasks of the
// loop and answer when they can.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "berth/base/result.h"

namespace berth::net {
class AsioLoop;
}

namespace berth::rpc {

/// The server's side of a running stream. Messages are sent in order; what is sent after the end,
/// or to a client that is gone, is dropped.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void send(std::string message) = 0;
  virtual void finish(Result<void> end) = 0;
};

using Respond = std::function<void(Result<std::string>)>;
/// To be answered once, at once or later.
using UnaryHandler = std::function<void(std::string request, Respond respond)>;
/// What it returns is kept while the stream lives and destroyed when the client hangs up, the
/// stream is finished or the server goes.
using StreamHandler =
    std::function<std::shared_ptr<void>(std::string request, std::shared_ptr<Sink> sink)>;

/// By full path, "/v1beta1.Registration/Register". Others are answered with UNIMPLEMENTED.
struct Methods {
  std::map<std::string, UnaryHandler> unary;
  std::map<std::string, StreamHandler> streams;
};

struct ServerOptions {
  /// Larger messages are refused.
  int largest_message = 4 * 1024 * 1024;
};

/// Belongs to the loop's thread; the loop must outlive it. Destroying it ends every call with
/// Unavailable and removes the socket file.
class Server {
 public:
  /// A socket file that a dead server left is replaced. The file's mode is 0600. Errors: the path
  /// is too long for a socket, is no socket, or cannot be bound.
  static Result<std::unique_ptr<Server>> listen(net::AsioLoop& loop, const std::string& socket,
                                                Methods methods, ServerOptions options = {});
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

 private:
  struct State;
  explicit Server(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

} // namespace berth::rpc
