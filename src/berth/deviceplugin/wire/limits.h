// How long the other side of a socket may take, and how much it may ask for. Times are the
// kubelet's where it has some.
#pragma once

#include <cstddef>

#include "berth/base/time.h"

namespace berth::deviceplugin {

struct WireLimits {
  /// For a plugin to be there and to speak gRPC, and for its options.
  Duration dial = Duration::seconds(10);
  /// Of a call: longer than the device manager's own patience, whose words are better.
  Duration call = Duration::seconds(60);
  /// Between two device lists that are passed on; of those between, the last counts.
  Duration list_interval = Duration::millis(100);
  /// For the kubelet to answer a registration, which includes its dialling back.
  Duration registration = Duration::seconds(30);
  /// Registrations under way at the same time; more are refused.
  std::size_t pending_registrations = 64;
};

} // namespace berth::deviceplugin
