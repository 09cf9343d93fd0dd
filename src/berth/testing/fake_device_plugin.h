// A device plugin that does as it is told and remembers what it was asked.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "berth/base/loop.h"
#include "berth/deviceplugin/contract.h"

namespace berth::test {

/// Answers by later tasks. `allocate` gives each container the variable DEVICES=<ids> unless told
/// otherwise; `prefer` has no opinion.
class FakeDevicePlugin final : public deviceplugin::DevicePlugin {
 public:
  using Response = deviceplugin::ContainerAllocateResponse;
  using Ids = std::vector<std::string>;

  FakeDevicePlugin(Loop& loop, std::vector<deviceplugin::Device> devices)
      : loop_(&loop), devices_(std::move(devices)) {}

  // What it does.
  deviceplugin::DevicePluginOptions options;
  Result<void> options_answer;   ///< an error instead of options
  bool silent = false;           ///< answers no call, ever
  bool hides_preference = false; ///< does not answer GetPreferredAllocation, ever
  Duration takes;                ///< how long it thinks about an answer
  bool lists_at_once = true;     ///< else the first list is the first set_devices()
  std::function<Result<Ids>(const deviceplugin::PreferredAllocationRequest&)> prefer;
  std::function<Result<std::vector<Response>>(const Ids&)> give;
  Result<void> pre_start_answer;

  // What it was asked.
  std::vector<deviceplugin::PreferredAllocationRequest> questions;
  std::vector<Ids> allocated;
  std::vector<Ids> started;
  int listeners = 0;

  void set_devices(std::vector<deviceplugin::Device> devices) {
    devices_ = std::move(devices);
    if (const auto stream = stream_.lock()) {
      send(stream);
    }
  }
  void set_health(std::string_view id, std::string_view health) {
    std::vector<deviceplugin::Device> devices = devices_;
    for (deviceplugin::Device& device : devices) {
      if (device.id == id) {
        device.health = std::string(health);
      }
    }
    set_devices(std::move(devices));
  }
  /// The process ends: the stream with it, and every further call fails.
  void die() {
    dead_ = true;
    if (const auto stream = stream_.lock()) {
      loop_->post([weak = std::weak_ptr(stream)] {
        if (const auto open = weak.lock()) {
          const auto on_end = open->on_end;
          on_end({.code = Code::Unavailable, .message = "EOF"});
        }
      });
    }
  }

  void get_options(deviceplugin::Done<deviceplugin::DevicePluginOptions> done) override {
    answer<deviceplugin::DevicePluginOptions>(std::move(done),
                                              options_answer.map([this] { return options; }));
  }
  std::unique_ptr<deviceplugin::DeviceStream>
  list_and_watch(std::function<void(std::vector<deviceplugin::Device>)> on_list,
                 std::function<void(Error)> on_end) override {
    ++listeners;
    const auto stream = std::make_shared<Stream>(Stream{std::move(on_list), std::move(on_end)});
    stream_ = stream;
    if (lists_at_once) {
      send(stream);
    }
    return std::make_unique<Handle>(stream);
  }
  void get_preferred_allocation(const deviceplugin::PreferredAllocationRequest& request,
                                deviceplugin::Done<Ids> done) override {
    questions.push_back(request);
    if (hides_preference) {
      return;
    }
    answer<Ids>(std::move(done), prefer ? prefer(request) : Result<Ids>(Ids()));
  }
  void allocate(const std::vector<Ids>& containers,
                deviceplugin::Done<std::vector<Response>> done) override {
    std::vector<Response> responses;
    for (const Ids& ids : containers) {
      allocated.push_back(ids);
      std::string list;
      for (const std::string& id : ids) {
        list += (list.empty() ? "" : ",") + id;
      }
      responses.push_back({.envs = {{"DEVICES", list}}});
    }
    answer<std::vector<Response>>(std::move(done), give ? give(containers.front())
                                                        : Result<std::vector<Response>>(responses));
  }
  void pre_start_container(const Ids& ids, deviceplugin::Done<void> done) override {
    started.push_back(ids);
    answer<void>(std::move(done), pre_start_answer);
  }

 private:
  struct Stream {
    std::function<void(std::vector<deviceplugin::Device>)> on_list;
    std::function<void(Error)> on_end;
  };
  class Handle final : public deviceplugin::DeviceStream {
   public:
    explicit Handle(std::shared_ptr<Stream> stream) : stream_(std::move(stream)) {}

   private:
    std::shared_ptr<Stream> stream_;
  };

  void send(const std::shared_ptr<Stream>& stream) {
    loop_->post([weak = std::weak_ptr(stream), devices = devices_] {
      if (const auto open = weak.lock()) {
        const auto on_list = open->on_list;
        on_list(devices);
      }
    });
  }
  template <class T> void answer(deviceplugin::Done<T> done, Result<T> result) {
    if (silent) {
      return;
    }
    if (dead_) {
      result = fail(Code::Unavailable, "connection refused");
    }
    if (takes == Duration()) {
      loop_->post([done = std::move(done), result = std::move(result)] { done(result); });
      return;
    }
    loop_->after(takes, [this, done = std::move(done), result = std::move(result)] {
      done(dead_ ? Result<T>(fail(Code::Unavailable, "connection refused")) : result);
    });
  }

  Loop* loop_;
  std::vector<deviceplugin::Device> devices_;
  std::weak_ptr<Stream> stream_;
  bool dead_ = false;
};

} // namespace berth::test
