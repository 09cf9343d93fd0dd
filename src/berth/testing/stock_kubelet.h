// The kubelet's side of the device plugin API as any kubelet has it, in messages: what our plugins
// have to get on with.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "berth/deviceplugin/wire/methods.h"
#include "berth/rpc/channel.h"
#include "berth/rpc/server.h"
#include "berth/rpc/typed.h"
#include "berth/testing/real_loop.h"
#include "deviceplugin/wire/v1beta1.pb.h"

namespace berth::test {

/// Down until start(). Starting again is a restart: sockets are swept, everything is forgotten.
class StockKubelet {
 public:
  struct Plugin {
    std::unique_ptr<rpc::Channel> channel;
    std::unique_ptr<rpc::Stream> stream;
    v1beta1::DevicePluginOptions options;
    int lists = 0;
    v1beta1::ListAndWatchResponse devices; ///< the last list
    bool ended = false;
  };

  StockKubelet(net::AsioLoop& loop, std::string directory)
      : loop_(&loop), directory_(std::move(directory)) {}

  // What it does.
  std::function<Result<void>(const v1beta1::RegisterRequest&)> judge; ///< before it dials
  bool listens_to_devices = true;

  // What it was told.
  std::vector<v1beta1::RegisterRequest> requests;
  std::map<std::string, Plugin> plugins; ///< by resource

  void start() {
    namespace fs = std::filesystem;
    stop();
    fs::create_directories(directory_);
    for (const auto& each : fs::directory_iterator(directory_)) {
      if (each.is_socket()) {
        fs::remove(each.path());
      }
    }
    rpc::Methods methods;
    methods.unary[deviceplugin::method::kRegister] =
        rpc::unary<v1beta1::RegisterRequest, v1beta1::Empty>(
            [this](const v1beta1::RegisterRequest& request, const Respond& respond) {
              take(request, respond);
            });
    auto server = rpc::Server::listen(*loop_, directory_ + "/kubelet.sock", std::move(methods));
    ASSERT_TRUE(server) << to_string(server.error());
    server_ = *std::move(server);
  }
  void stop() {
    server_.reset();
    plugins.clear();
  }

  bool knows(const std::string& resource) const {
    const auto it = plugins.find(resource);
    return it != plugins.end() && it->second.lists > 0 && !it->second.ended;
  }
  template <class Response, class Request>
  Result<Response> call(const std::string& resource, const char* method, const Request& request) {
    return answer_of<Response>(*loop_, [&](auto done) {
      rpc::call<Response>(*plugins.at(resource).channel, method, request,
                          {.timeout = Duration::seconds(30)}, std::move(done));
    });
  }

 private:
  using Respond = std::function<void(Result<v1beta1::Empty>)>;

  void take(const v1beta1::RegisterRequest& request, const Respond& respond) {
    requests.push_back(request);
    if (judge) {
      if (const auto judged = judge(request); !judged) {
        respond(tl::unexpected(judged.error()));
        return;
      }
    }
    Plugin& plugin = plugins[request.resource_name()] = Plugin();
    plugin.channel = std::make_unique<rpc::Channel>(*loop_, directory_ + "/" + request.endpoint());
    rpc::call<v1beta1::DevicePluginOptions>(
        *plugin.channel, deviceplugin::method::kGetOptions, v1beta1::Empty(),
        {.timeout = Duration::seconds(10), .absent = rpc::CallOptions::Absent::Wait},
        [this, respond,
         resource = request.resource_name()](const Result<v1beta1::DevicePluginOptions>& options) {
          if (!options) {
            respond(tl::unexpected(options.error()));
            return;
          }
          plugins[resource].options = *options;
          respond(v1beta1::Empty());
          if (listens_to_devices) {
            listen(resource);
          }
        });
  }
  void listen(const std::string& resource) {
    Plugin& plugin = plugins[resource];
    plugin.stream = rpc::stream<v1beta1::ListAndWatchResponse>(
        *plugin.channel, deviceplugin::method::kListAndWatch, v1beta1::Empty(),
        [this, resource](v1beta1::ListAndWatchResponse list) {
          ++plugins[resource].lists;
          plugins[resource].devices = std::move(list);
        },
        [this, resource](const Result<void>&) { plugins[resource].ended = true; });
  }

  net::AsioLoop* loop_;
  std::string directory_;
  std::unique_ptr<rpc::Server> server_;
};

} // namespace berth::test
