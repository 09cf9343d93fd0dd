// The Kubernetes API: requests in, answers out, over a registry. Knows no sockets.
#pragma once

#include <memory>
#include <string>

#include "berth/base/loop.h"
#include "berth/net/http_server.h"
#include "berth/store/registry.h"

namespace berth::server {

struct ApiServerOptions {
  std::string address = "127.0.0.1:6443"; ///< told in discovery
};

/// Runs on the loop's thread. The registry must outlive the server; streams that it has begun end
/// when it is destroyed.
class ApiServer {
 public:
  ApiServer(Loop& loop, store::Registry& registry, ApiServerOptions options);
  ~ApiServer();
  ApiServer(const ApiServer&) = delete;
  ApiServer& operator=(const ApiServer&) = delete;

  void handle(const net::HttpRequest& request, const net::HttpRespond& respond);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace berth::server
