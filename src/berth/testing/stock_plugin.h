// A device plugin of anybody's, in messages: what our kubelet has to get on with, well-behaved or
// not.
#pragma once

#include <functional>
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

/// Answers as stock plugins do unless its methods are replaced before serve().
class StockPlugin {
 public:
  StockPlugin(net::AsioLoop& loop, std::string directory, std::string socket = "stock.sock")
      : loop_(&loop), directory_(std::move(directory)), socket_(std::move(socket)) {
    namespace method = deviceplugin::method;
    methods.unary[method::kGetOptions] = rpc::unary<v1beta1::Empty, v1beta1::DevicePluginOptions>(
        [this](const v1beta1::Empty&, const auto& respond) { respond(options); });
    methods.unary[method::kAllocate] =
        rpc::unary<v1beta1::AllocateRequest, v1beta1::AllocateResponse>(
            [this](const v1beta1::AllocateRequest& request, const auto& respond) {
              allocations.push_back(request);
              respond(allocated(request));
            });
    methods.unary[method::kPreStartContainer] =
        rpc::unary<v1beta1::PreStartContainerRequest, v1beta1::PreStartContainerResponse>(
            [this](const v1beta1::PreStartContainerRequest& request, const auto& respond) {
              started.push_back(request);
              respond(v1beta1::PreStartContainerResponse());
            });
    methods.streams[method::kListAndWatch] = [this](const std::string&,
                                                    std::shared_ptr<rpc::Sink> its_sink) {
      sink = std::move(its_sink);
      send_devices();
      return std::make_shared<int>(0);
    };
  }

  // What it does and has.
  rpc::Methods methods;
  v1beta1::DevicePluginOptions options;
  v1beta1::ListAndWatchResponse devices;

  // What it was asked.
  std::vector<v1beta1::AllocateRequest> allocations;
  std::vector<v1beta1::PreStartContainerRequest> started;
  std::shared_ptr<rpc::Sink> sink; ///< of the last ListAndWatch

  v1beta1::Device& add_device(const std::string& id, const std::string& health = "Healthy") {
    v1beta1::Device& device = *devices.add_devices();
    device.set_id(id);
    device.set_health(health);
    return device;
  }
  void send_devices() { sink->send(devices.SerializeAsString()); }
  void serve() {
    server_.reset();
    auto server = rpc::Server::listen(*loop_, path(), methods);
    ASSERT_TRUE(server) << to_string(server.error());
    server_ = *std::move(server);
  }
  /// The process dies. Its socket's file goes with it.
  void die() {
    sink.reset();
    server_.reset();
  }
  std::string path() const { return directory_ + "/" + socket_; }

  /// What the kubelet says to a registration.
  Result<void> ask_to_register(const v1beta1::RegisterRequest& request) {
    rpc::Channel kubelet(*loop_, directory_ + "/kubelet.sock");
    return answer_of<v1beta1::Empty>(*loop_,
                                     [&](auto done) {
                                       rpc::call<v1beta1::Empty>(
                                           kubelet, deviceplugin::method::kRegister, request,
                                           {.timeout = Duration::seconds(60)}, std::move(done));
                                     })
        .map([](const v1beta1::Empty&) {});
  }
  v1beta1::RegisterRequest request(const std::string& resource) const {
    v1beta1::RegisterRequest message;
    message.set_version("v1beta1");
    message.set_endpoint(socket_);
    message.set_resource_name(resource);
    return message;
  }
  Result<void> ask_to_register(const std::string& resource) {
    return ask_to_register(request(resource));
  }

 private:
  static v1beta1::AllocateResponse allocated(const v1beta1::AllocateRequest& request) {
    v1beta1::AllocateResponse response;
    for (const v1beta1::ContainerAllocateRequest& container : request.container_requests()) {
      std::string ids;
      for (const std::string& id : container.devices_ids()) {
        ids += (ids.empty() ? "" : ",") + id;
      }
      (*response.add_container_responses()->mutable_envs())["DEVICES"] = ids;
    }
    return response;
  }

  net::AsioLoop* loop_;
  std::string directory_;
  std::string socket_;
  std::unique_ptr<rpc::Server> server_;
};

} // namespace berth::test
