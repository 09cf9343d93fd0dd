// The client's side of a SPDY/3.1 connection: streams that this side opens, each of which ends in
// either direction alone.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "berth/net/http.h"
#include "berth/net/spdy/frames.h"

namespace berth::net::spdy {

/// What becomes of the streams. Callbacks run as later tasks of the loop, and not after cut().
struct ClientEvents {
  std::function<void(StreamId, std::string_view)> data;
  /// Nothing more comes on the stream: it is whole, or was reset.
  std::function<void(StreamId)> end;
  /// The connection is over; success if the other side has ended it. Last.
  std::function<void(Result<void>)> over;
  /// The network has taken all that was sent.
  std::function<void()> room;
};

class Client {
 public:
  virtual ~Client() = default;

  virtual StreamId open(const HttpHeaders& headers) = 0;
  virtual void send(StreamId stream, std::string_view bytes) = 0;
  /// Nothing more will be sent on the stream.
  virtual void finish(StreamId stream) = 0;
  /// Bytes that the network has not taken yet.
  virtual std::size_t waiting() const = 0;
  /// Nothing is read until resume(): the other side has to wait.
  virtual void pause() = 0;
  virtual void resume() = 0;
  /// Ends the connection, at once.
  virtual void cut() = 0;
};

/// On a connection that has been upgraded to SPDY/3.1. Its reads and writes keep the client.
std::shared_ptr<Client> make_client(HandedOver on, ClientEvents events);

} // namespace berth::net::spdy
