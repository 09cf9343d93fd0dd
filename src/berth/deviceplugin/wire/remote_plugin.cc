#include "berth/deviceplugin/wire/remote_plugin.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "berth/deviceplugin/wire/messages.h"
#include "berth/deviceplugin/wire/methods.h"
#include "berth/rpc/typed.h"

namespace berth::deviceplugin {
namespace {

Error closed() {
  return {.code = Code::Unavailable, .message = "connection to the device plugin lost"};
}

} // namespace

/// Who listens to a stream. Owned by its handle alone, so that what is on its way when that is
/// dropped, or on another thread, reaches nobody.
struct RemotePlugin::Listener : std::enable_shared_from_this<Listener> {
  Listener(net::AsioLoop& loop, Duration list_interval) : interval(list_interval), pause(loop) {}

  // The newest list only, and not too often: a list costs its reader a checkpoint.
  void hear(std::string bytes) {
    latest = std::move(bytes);
    if (!pause.armed()) {
      pass_on();
    }
  }
  void pass_on() {
    if (!latest || ended) {
      return;
    }
    const std::string bytes = *std::exchange(latest, std::nullopt);
    pause.set(interval, [this] { pass_on(); });
    auto devices = rpc::decode<v1beta1::ListAndWatchResponse>(bytes).and_then(
        [](const v1beta1::ListAndWatchResponse& message) { return from_message(message); });
    if (!devices) {
      end(std::move(devices).error());
      return;
    }
    const auto alive = shared_from_this(); // whoever hears it may hang up
    const auto now = on_list;
    now(*std::move(devices));
  }
  void end(Error error) {
    if (std::exchange(ended, true)) {
      return;
    }
    pause.cancel();
    const auto alive = shared_from_this();
    stream.reset();
    const auto now = on_end;
    now(std::move(error));
  }

  Duration interval;
  std::function<void(std::vector<Device>)> on_list;
  std::function<void(Error)> on_end;
  std::unique_ptr<rpc::Stream> stream;
  std::optional<std::string> latest;
  Timer pause;
  bool ended = false;
};

class RemotePlugin::Listening final : public DeviceStream {
 public:
  explicit Listening(std::shared_ptr<Listener> listener) : listener_(std::move(listener)) {}
  ~Listening() override { listener_->ended = true; }
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

 private:
  std::shared_ptr<Listener> listener_;
};

RemotePlugin::RemotePlugin(net::AsioLoop& loop, Result<std::string> socket, WireLimits limits)
    : loop_(&loop), socket_(std::move(socket)), limits_(limits),
      channel_(socket_ ? std::make_unique<rpc::Channel>(loop, *socket_) : nullptr) {}

RemotePlugin::~RemotePlugin() {
  hang_up();
}

void RemotePlugin::hang_up() {
  channel_.reset();
  for (auto& [id, end] : std::exchange(in_flight_, {})) {
    loop_->post([tell = std::move(end)] { tell(closed()); });
  }
  for (const std::weak_ptr<Listener>& each : std::exchange(listeners_, {})) {
    loop_->post([each] {
      if (const auto listener = each.lock()) {
        listener->end(closed());
      }
    });
  }
}

// The answer to a call comes once: from the peer, or because the connection is closed.
template <class T> Done<T> RemotePlugin::until_closed(Done<T> done) {
  const std::uint64_t id = next_call_++;
  const auto shared = std::make_shared<Done<T>>(std::move(done));
  in_flight_.emplace(id, [shared](Error error) { (*shared)(tl::unexpected(std::move(error))); });
  // The channel calls nothing back once it is gone, and it goes before this object does.
  return [this, id, shared](Result<T> result) {
    in_flight_.erase(id);
    (*shared)(std::move(result));
  };
}

template <class T> bool RemotePlugin::refused(const Done<T>& done) {
  if (!channel_) {
    loop_->post([done] { done(tl::unexpected(closed())); });
  }
  return !channel_;
}

// A wait that ended without a connection is nobody's slowness.
Error RemotePlugin::explained(Error error) const {
  if (error.code == Code::Timeout) {
    const bool there = channel_ && channel_->connected();
    error.code = there ? Code::Timeout : Code::Unavailable;
    error.message = fmt::format("{}: {} within {}", *socket_,
                                there ? "no answer" : "nobody who speaks gRPC listens",
                                to_string(limits_.dial));
  }
  return error;
}

void RemotePlugin::get_options(Done<DevicePluginOptions> done) {
  if (!socket_) {
    loop_->post(
        [done, error = Error{.code = Code::Unavailable, .message = socket_.error().message}] {
          done(tl::unexpected(error));
        });
    return;
  }
  if (refused(done)) {
    return;
  }
  rpc::call<v1beta1::DevicePluginOptions>(
      *channel_, method::kGetOptions, v1beta1::Empty(),
      {.timeout = limits_.dial, .absent = rpc::CallOptions::Absent::Wait},
      [this,
       finish = until_closed(std::move(done))](const Result<v1beta1::DevicePluginOptions>& answer) {
        if (answer) {
          finish(from_message(*answer));
        } else {
          finish(tl::unexpected(explained(answer.error())));
        }
      });
}

std::unique_ptr<DeviceStream>
RemotePlugin::list_and_watch(std::function<void(std::vector<Device>)> on_list,
                             std::function<void(Error)> on_end) {
  const auto listener = std::make_shared<Listener>(*loop_, limits_.list_interval);
  listener->on_list = std::move(on_list);
  listener->on_end = std::move(on_end);
  const std::weak_ptr<Listener> weak = listener;
  if (!channel_) {
    loop_->post([weak] {
      if (const auto alive = weak.lock()) {
        alive->end(closed());
      }
    });
    return std::make_unique<Listening>(listener);
  }
  std::erase_if(listeners_, [](const auto& each) { return each.expired(); });
  listeners_.push_back(weak);
  listener->stream = channel_->stream(
      method::kListAndWatch, v1beta1::Empty().SerializeAsString(),
      [weak](std::string bytes) {
        if (const auto alive = weak.lock()) {
          alive->hear(std::move(bytes));
        }
      },
      [weak](const Result<void>& end) {
        if (const auto alive = weak.lock()) {
          alive->end(end ? Error{.code = Code::Unavailable, .message = "EOF"} : end.error());
        }
      });
  return std::make_unique<Listening>(listener);
}

void RemotePlugin::get_preferred_allocation(const PreferredAllocationRequest& request,
                                            Done<std::vector<std::string>> done) {
  if (refused(done)) {
    return;
  }
  rpc::call<v1beta1::PreferredAllocationResponse>(
      *channel_, method::kGetPreferredAllocation, to_message(request), {.timeout = limits_.call},
      [finish = until_closed(std::move(done))](
          const Result<v1beta1::PreferredAllocationResponse>& answer) {
        finish(answer.and_then([](const v1beta1::PreferredAllocationResponse& message) {
          return from_message(message);
        }));
      });
}

void RemotePlugin::allocate(const std::vector<std::vector<std::string>>& containers,
                            Done<std::vector<ContainerAllocateResponse>> done) {
  if (refused(done)) {
    return;
  }
  rpc::call<v1beta1::AllocateResponse>(
      *channel_, method::kAllocate, to_message(containers), {.timeout = limits_.call},
      [finish = until_closed(std::move(done)),
       asked = containers.size()](const Result<v1beta1::AllocateResponse>& answer) {
        finish(answer.and_then([asked](const v1beta1::AllocateResponse& message) {
          return from_message(message, asked);
        }));
      });
}

void RemotePlugin::pre_start_container(const std::vector<std::string>& ids, Done<void> done) {
  if (refused(done)) {
    return;
  }
  v1beta1::PreStartContainerRequest request;
  request.mutable_devices_ids()->Assign(ids.begin(), ids.end());
  rpc::call<v1beta1::PreStartContainerResponse>(
      *channel_, method::kPreStartContainer, request, {.timeout = limits_.call},
      [finish = until_closed(std::move(done))](
          const Result<v1beta1::PreStartContainerResponse>& answer) {
        finish(answer.map([](const v1beta1::PreStartContainerResponse&) {}));
      });
}

} // namespace berth::deviceplugin
