#include "berth/deviceplugin/wire/registration_server.h"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "berth/base/log.h"
#include "berth/deviceplugin/wire/kubelet_paths.h"
#include "berth/deviceplugin/wire/messages.h"
#include "berth/deviceplugin/wire/methods.h"
#include "berth/deviceplugin/wire/remote_plugin.h"
#include "berth/deviceplugin/wire/socket_file.h"
#include "berth/rpc/server.h"
#include "berth/rpc/typed.h"

namespace berth::deviceplugin {
namespace {

using Respond = std::function<void(Result<v1beta1::Empty>)>;

class Listening final : public KubeletSocket::Handle {
 public:
  Listening(net::AsioLoop& loop, std::string directory, Registration& registration,
            WireLimits limits)
      : loop_(&loop), directory_(std::move(directory)), registration_(&registration),
        limits_(limits), kubelet_(fmt::format("{}/{}", directory_, kKubeletSocketName)) {}
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

  Result<void> open() {
    rpc::Methods methods;
    methods.unary[method::kRegister] = rpc::unary<v1beta1::RegisterRequest, v1beta1::Empty>(
        [this](const v1beta1::RegisterRequest& request, const Respond& respond) {
          take(request, respond);
        });
    server_.reset();
    BERTH_CHECK(make_directory(directory_));
    BERTH_TRY(server_, rpc::Server::listen(*loop_, kubelet_, std::move(methods)));
    return {};
  }

  /// Without its socket nobody finds the kubelet, and it would not know why.
  void guard(PatrolTimes times) {
    patrol_ =
        std::make_unique<DirectoryPatrol>(*loop_, directory_, times, [this](DirectoryPatrol::Why) {
          if (!socket_at(kubelet_)) {
            open_again();
          }
        });
  }

  ~Listening() override {
    server_.reset();
    // Who is being dialled would otherwise be held by the very call that is under way.
    for (const auto& each : plugins_) {
      if (const auto plugin = each.lock()) {
        plugin->hang_up();
      }
    }
  }

 private:
  void open_again() {
    const auto opened = open();
    log(LogLevel::Warn, "device-manager",
        fmt::format("{} was deleted: {}", kubelet_,
                    opened ? "made anew" : to_string(opened.error())));
  }

  void take(const v1beta1::RegisterRequest& request, const Respond& respond) {
    if (*pending_ >= limits_.pending_registrations) {
      respond(fail(Code::TooManyRequests,
                   fmt::format("{} registrations are under way already", *pending_)));
      return;
    }
    // Options in the request do not count: the plugin is asked for them.
    auto plugin = std::make_shared<RemotePlugin>(
        *loop_, endpoint_path(directory_, request.endpoint()), limits_);
    std::erase_if(plugins_, [](const auto& each) { return each.expired(); });
    plugins_.push_back(plugin);
    ++*pending_;
    registration_->register_plugin({.version = request.version(),
                                    .resource_name = request.resource_name(),
                                    .endpoint = std::move(plugin)},
                                   [pending = pending_, respond](const Result<void>& done) {
                                     --*pending;
                                     respond(done.map([] { return v1beta1::Empty(); }));
                                   });
  }

  net::AsioLoop* loop_;
  std::string directory_;
  Registration* registration_;
  WireLimits limits_;
  std::string kubelet_; ///< path of the socket
  std::shared_ptr<std::size_t> pending_ = std::make_shared<std::size_t>(0);
  std::vector<std::weak_ptr<RemotePlugin>> plugins_;
  std::unique_ptr<rpc::Server> server_;
  std::unique_ptr<DirectoryPatrol> patrol_;
};

} // namespace

Result<std::unique_ptr<KubeletSocket::Handle>>
serve_registration(net::AsioLoop& loop, const std::string& directory, Registration& registration,
                   WireLimits limits, PatrolTimes patrol) {
  BERTH_CHECK(make_directory(directory));
  BERTH_CHECK(sweep_sockets(directory));
  auto listening = std::make_unique<Listening>(loop, directory, registration, limits);
  BERTH_CHECK(listening->open());
  listening->guard(patrol);
  return listening;
}

} // namespace berth::deviceplugin
