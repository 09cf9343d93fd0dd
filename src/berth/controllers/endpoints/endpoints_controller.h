// Keeps the Endpoints and EndpointSlices of Services true: the addresses of the pods that a Service
// selects. Source: kubernetes pkg/controller/endpoint and pkg/controller/endpointslice.
#pragma once

#include <memory>

#include "berth/base/loop.h"
#include "berth/client/client.h"

namespace berth::controllers {

/// Watches pods only once there is a Service with a selector. Endpoints go with their Service;
/// slices are the garbage collector's, whose owner the Service is.
class EndpointsController {
 public:
  EndpointsController(client::Client& client, Loop& loop);
  ~EndpointsController();
  EndpointsController(const EndpointsController&) = delete;
  EndpointsController& operator=(const EndpointsController&) = delete;

  bool idle() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

} // namespace berth::controllers
