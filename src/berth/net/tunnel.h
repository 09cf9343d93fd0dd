// Two connections joined: what one says the other hears, until one of them ends. A side that does
// not take what it is sent makes the other wait.
#pragma once

#include <functional>
#include <memory>

#include "berth/net/http.h"

namespace berth::net {

class Tunnel {
 public:
  virtual ~Tunnel() = default;
  /// Ends both, at once. Idempotent.
  virtual void cut() = 0;
};

/// `on_end` runs once, when both are closed. The connections' callbacks keep the tunnel.
std::shared_ptr<Tunnel> join(HandedOver a, HandedOver b, std::function<void()> on_end);

} // namespace berth::net
