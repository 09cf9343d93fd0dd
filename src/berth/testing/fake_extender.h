// A scheduler extender behind a real socket, on a thread of its own: for whoever blocks on its
// answers.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <boost/json/parse.hpp>

#include "berth/base/assert.h"
#include "berth/net/http_server.h"

namespace berth::test {

class FakeExtender {
 public:
  /// Runs on the extender's thread. `path` is e.g. "/filter".
  using Answer =
      std::function<net::HttpResponse(std::string_view path, const boost::json::value& args)>;

  explicit FakeExtender(Answer answer) {
    auto listening = net::HttpServer::listen(
        loop_, {},
        [this, answer = std::move(answer)](const net::HttpRequest& request,
                                           const net::HttpRespond& respond) {
          {
            const std::scoped_lock lock(mutex_);
            paths_.emplace_back(request.path());
          }
          respond(answer(request.path(), boost::json::parse(request.body)));
        });
    BERTH_ASSERT(listening, to_string(listening.error()));
    server_ = *std::move(listening);
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~FakeExtender() {
    loop_.post_from_any_thread([this] { loop_.stop(); });
    thread_.join();
  }
  FakeExtender(const FakeExtender&) = delete;
  FakeExtender& operator=(const FakeExtender&) = delete;

  std::string url() const { return "http://127.0.0.1:" + std::to_string(server_->port()); }
  std::vector<std::string> paths() const {
    const std::scoped_lock lock(mutex_);
    return paths_;
  }

 private:
  net::AsioLoop loop_;
  std::unique_ptr<net::HttpServer> server_;
  mutable std::mutex mutex_;
  std::vector<std::string> paths_;
  std::thread thread_;
};

} // namespace berth::test
