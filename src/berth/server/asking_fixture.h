// A server over memory whose administrator asks it: what tests of its answers share.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "berth/base/virtual_loop.h"
#include "berth/server/access/rbac_admission.h"
#include "berth/server/api_server.h"
#include "berth/store/memory_store.h"

namespace berth::server {

class Asking : public testing::Test {
 protected:
  Asking() {
    (void)store::bootstrap(registry, loop.now());
    ApiServerOptions options;
    options.access.tokens.add(
        "admin", {.name = "admin", .uid = {}, .groups = {"system:masters"}, .extra = {}});
    options.audit = [this](std::string_view line) { audit_lines.emplace_back(line); };
    server = *ApiServer::open(loop, registry, std::move(options));
    loop.run_until(loop.now());
  }

  net::HttpResponse answer(const std::string& method, const std::string& target, std::string body,
                           const std::string& type) {
    net::HttpResponse answer;
    server->handle({.method = method,
                    .target = target,
                    .headers = {{"Authorization", "Bearer admin"}, {"Content-Type", type}},
                    .body = std::move(body)},
                   [&](net::HttpResponse given) { answer = std::move(given); });
    loop.run_until(loop.now());
    return answer;
  }

  std::vector<std::string> audit_lines;
  VirtualLoop loop{TimePoint::from_unix_seconds(1'700'000'000)};
  store::MemoryStore store;
  store::Registry registry{store,
                           Rng(1),
                           {.namespaces = store::Registry::Namespaces::MustExist,
                            .admission = with_rbac(store::server_admission())}};
  std::unique_ptr<ApiServer> server;
};

} // namespace berth::server
