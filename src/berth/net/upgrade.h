// Asking a server to leave HTTP for another protocol on the same connection (RFC 9110, 7.8): what
// SPDY and WebSocket begin with, and what a proxy of them passes on.
#pragma once

#include <functional>
#include <memory>

#include "berth/base/time.h"
#include "berth/net/asio_loop.h"
#include "berth/net/http.h"

namespace berth::net {

struct UpgradeRequest {
  HttpUrl to;
  HttpRequest request; ///< its headers say for what; its target is appended to the URL's path
  std::shared_ptr<const TlsContext> tls; ///< for https
  Duration timeout = Duration::seconds(30);
};

struct Upgraded {
  HttpResponse answer; ///< 101, or why not, with its body
  HandedOver stream;   ///< without a connection if it was refused
};

/// Under way. Dropping it gives it up; nothing is called afterwards.
class UpgradeCall {
 public:
  virtual ~UpgradeCall() = default;
};

/// `done` runs once, as a later task. Errors: Unavailable (no connection, no HTTP), Timeout.
std::unique_ptr<UpgradeCall> request_upgrade(AsioLoop& loop, UpgradeRequest what,
                                             std::function<void(Result<Upgraded>)> done);

} // namespace berth::net
