// A log read through an agent's own server.
#pragma once

#include <functional>
#include <memory>

#include "berth/net/http_client.h"
#include "berth/server/nodes.h"

namespace berth::kubelet {

struct RemoteLogPlace {
  net::HttpUrl url;
  std::string target;
  net::HttpHeaders headers;
};

/// `done` runs once the agent has answered, or has not. The client must outlive the reading.
void read_remote_log(net::HttpClient& client, const RemoteLogPlace& place,
                     std::function<void()> on_more,
                     std::function<void(server::Answer<std::unique_ptr<server::LogReading>>)> done);

/// "/containerLogs/NS/POD/CONTAINER?follow=true&..."
std::string log_target(const server::LogRequest& what);

} // namespace berth::kubelet
