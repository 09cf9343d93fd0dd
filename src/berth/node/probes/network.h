// The network as probes and hooks use it: requests and connections from the machine to a pod.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "berth/base/result.h"
#include "berth/base/time.h"
#include "berth/node/probes/check.h"

namespace berth::node {

class ProbeNetwork {
 public:
  virtual ~ProbeNetwork() = default;

  /// Gives the status of the answer, once, as a later task. Errors: Unavailable, Timeout.
  virtual void get(const HttpCheck& what, Duration timeout,
                   std::function<void(Result<int>)> done) = 0;
  /// Connects and hangs up. Errors as above.
  virtual void connect(const TcpCheck& where, Duration timeout,
                       std::function<void(Result<void>)> done) = 0;
  /// Gives the word of grpc.health.v1.HealthCheckResponse, such as "SERVING". Errors as above, and
  /// BadRequest: it does not speak that protocol; NotFound: it knows no such service.
  virtual void ask_health(const GrpcCheck& what, Duration timeout,
                          std::function<void(Result<std::string>)> done) = 0;
};

} // namespace berth::node
