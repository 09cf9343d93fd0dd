#include "berth/deviceplugin/plugin_server.h"

#include <functional>
#include <utility>

namespace berth::deviceplugin {
namespace {

Error gone() {
  return {.code = Code::Unavailable, .message = "connection to the device plugin lost"};
}

struct Watcher {
  std::function<void(std::vector<Device>)> on_list;
  std::function<void(Error)> on_end;
};

// The watcher's only owner: once it is dropped, tasks that hold it weakly deliver nothing.
class Stream final : public DeviceStream {
 public:
  explicit Stream(std::shared_ptr<Watcher> watcher) : watcher_(std::move(watcher)) {}

 private:
  std::shared_ptr<Watcher> watcher_;
};

} // namespace

struct PluginServer::Life {
  Loop* loop = nullptr;
  PluginService* service = nullptr;
  Duration rpc_takes;
  std::vector<std::weak_ptr<Watcher>> watchers;

  void send_list(const std::weak_ptr<Watcher>& to) const {
    loop->post([to, devices = service->devices()] {
      if (const auto watcher = to.lock()) {
        const auto on_list = watcher->on_list;
        on_list(devices);
      }
    });
  }

  void send_end(const std::weak_ptr<Watcher>& to) const {
    loop->post([to] {
      if (const auto watcher = to.lock()) {
        const auto on_end = watcher->on_end;
        on_end(gone());
      }
    });
  }
};

namespace {

// A client's end of the socket. Answer is what a life of the server makes of a request.
template <class Life> class Connection final : public DevicePlugin {
 public:
  Connection(Loop& loop, Duration rpc_takes, std::weak_ptr<Life> life)
      : loop_(&loop), rpc_takes_(rpc_takes), life_(std::move(life)) {}

  void get_options(Done<DevicePluginOptions> done) override {
    call(std::move(done),
         [](PluginService& service) -> Result<DevicePluginOptions> { return service.options(); });
  }

  void get_preferred_allocation(const PreferredAllocationRequest& request,
                                Done<std::vector<std::string>> done) override {
    call(std::move(done), [request](PluginService& service) { return service.preferred(request); });
  }

  void allocate(const std::vector<std::vector<std::string>>& containers,
                Done<std::vector<ContainerAllocateResponse>> done) override {
    call(std::move(done),
         [containers](PluginService& service) { return service.allocate(containers); });
  }

  void pre_start_container(const std::vector<std::string>& ids, Done<void> done) override {
    call(std::move(done),
         [ids](PluginService& service) { return service.pre_start_container(ids); });
  }

  std::unique_ptr<DeviceStream> list_and_watch(std::function<void(std::vector<Device>)> on_list,
                                               std::function<void(Error)> on_end) override {
    auto watcher = std::make_shared<Watcher>(Watcher{std::move(on_list), std::move(on_end)});
    if (const auto life = life_.lock()) {
      life->watchers.push_back(watcher);
      life->send_list(watcher);
    } else {
      loop_->post([weak = std::weak_ptr(watcher)] {
        if (const auto alive = weak.lock()) {
          const auto on_now = alive->on_end;
          on_now(gone());
        }
      });
    }
    return std::make_unique<Stream>(std::move(watcher));
  }

 private:
  template <class T, class F> void call(Done<T> done, F answer) {
    loop_->after(rpc_takes_, [life = life_, done = std::move(done), answer = std::move(answer)] {
      if (const auto alive = life.lock()) {
        done(answer(*alive->service));
      } else {
        done(tl::unexpected(gone()));
      }
    });
  }

  Loop* loop_;
  Duration rpc_takes_;
  std::weak_ptr<Life> life_;
};

} // namespace

PluginServer::PluginServer(Loop& loop, PluginService& service, Duration rpc_takes)
    : life_(std::make_shared<Life>(Life{&loop, &service, rpc_takes, {}})) {}

PluginServer::~PluginServer() {
  for (const auto& watcher : life_->watchers) {
    life_->send_end(watcher);
  }
}

std::shared_ptr<DevicePlugin> PluginServer::connect() {
  return std::make_shared<Connection<Life>>(*life_->loop, life_->rpc_takes, life_);
}

void PluginServer::devices_changed() {
  std::erase_if(life_->watchers, [](const auto& watcher) { return watcher.expired(); });
  for (const auto& watcher : life_->watchers) {
    life_->send_list(watcher);
  }
}

} // namespace berth::deviceplugin
