#include "berth/deviceplugin/wire/kubelet_directory.h"

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "berth/deviceplugin/wire/messages.h"
#include "berth/deviceplugin/wire/methods.h"
#include "berth/deviceplugin/wire/plugin_sockets.h"
#include "berth/deviceplugin/wire/registration_server.h"
#include "berth/deviceplugin/wire/socket_file.h"
#include "berth/rpc/typed.h"

namespace berth::deviceplugin {

struct KubeletDirectory::PluginSide : std::enable_shared_from_this<PluginSide> {
  PluginSide(net::AsioLoop& its_loop, KubeletDirectoryOptions with)
      : loop(&its_loop), options(std::move(with)),
        kubelet(fmt::format("{}/{}", options.directory, kKubeletSocketName)),
        sockets(its_loop, options.directory) {}

  void look(DirectoryPatrol::Why why);
  void announce(std::uint64_t to);
  void send(const std::string& resource, const v1beta1::RegisterRequest& request, Done<void> done);
  void answered(const std::string& resource, std::uint64_t id, Result<void> answer);

  /// A registration under way.
  struct Sent {
    std::uint64_t id = 0;
    std::unique_ptr<rpc::Channel> channel;
    Done<void> done;
  };

  net::AsioLoop* loop;
  KubeletDirectoryOptions options;
  std::string kubelet; ///< path of its socket
  PluginSockets sockets;
  std::optional<SocketIdentity> announced; ///< which life of kubelet.sock watchers were told of
  std::map<std::uint64_t, std::function<void()>> watchers;
  std::map<std::string, Sent> sent; ///< by resource
  std::uint64_t next_id = 1;
  std::unique_ptr<DirectoryPatrol> patrol; ///< while anybody watches
};

namespace {

class OnDrop final : public KubeletSocket::Handle {
 public:
  explicit OnDrop(Task task) : task_(std::move(task)) {}
  ~OnDrop() override { task_(); }
  OnDrop(const OnDrop&) = delete;
  OnDrop& operator=(const OnDrop&) = delete;

 private:
  Task task_;
};

} // namespace

void KubeletDirectory::PluginSide::look(DirectoryPatrol::Why why) {
  const auto now = socket_at(kubelet);
  const bool unheard = why == DirectoryPatrol::Why::Interval && sockets.unheard();
  const bool again = now && (now != announced || sockets.lost() || unheard);
  announced = now;
  if (again) {
    std::vector<std::uint64_t> ids;
    for (const auto& [id, on_listening] : watchers) {
      ids.push_back(id);
    }
    for (const std::uint64_t id : ids) {
      announce(id);
    }
  }
}

void KubeletDirectory::PluginSide::announce(std::uint64_t to) {
  loop->post([weak = weak_from_this(), to] {
    const auto self = weak.lock();
    if (self && self->watchers.contains(to)) {
      const auto on_listening = self->watchers[to];
      on_listening();
    }
  });
}

void KubeletDirectory::PluginSide::send(const std::string& resource,
                                        const v1beta1::RegisterRequest& request, Done<void> done) {
  if (const auto before = sent.find(resource); before != sent.end()) {
    loop->post([overtaken = before->second.done] {
      overtaken(fail(Code::Unavailable, "overtaken by a newer registration"));
    });
  }
  Sent& now = sent[resource];
  now = {.id = next_id++,
         .channel = std::make_unique<rpc::Channel>(*loop, kubelet),
         .done = std::move(done)};
  // Between the making of its socket and its listening there is a moment to wait for.
  rpc::call<v1beta1::Empty>(
      *now.channel, method::kRegister, request,
      {.timeout = options.limits.registration, .absent = rpc::CallOptions::Absent::Wait},
      [this, resource, id = now.id](const Result<v1beta1::Empty>& answer) {
        answered(resource, id, answer.map([](const v1beta1::Empty&) {}));
      });
}

void KubeletDirectory::PluginSide::answered(const std::string& resource, std::uint64_t id,
                                            Result<void> answer) {
  const auto it = sent.find(resource);
  if (it == sent.end() || it->second.id != id) {
    return;
  }
  const Sent gone = std::move(it->second);
  sent.erase(it);
  if (answer) {
    sockets.registered(resource);
  } else if (answer.error().code == Code::Unavailable) {
    announced.reset(); // whoever is there at the next look is news
  }
  loop->post([done = gone.done, answer = std::move(answer)] { done(answer); });
}

KubeletDirectory::KubeletDirectory(net::AsioLoop& loop, KubeletDirectoryOptions options)
    : loop_(&loop), options_(std::move(options)),
      plugins_(std::make_shared<PluginSide>(loop, options_)) {}

KubeletDirectory::~KubeletDirectory() {
  plugins_->patrol.reset();
}

Result<std::unique_ptr<KubeletSocket::Handle>> KubeletDirectory::listen(Registration& server) {
  return serve_registration(*loop_, options_.directory, server, options_.limits, options_.patrol);
}

std::unique_ptr<KubeletSocket::Handle> KubeletDirectory::watch(std::function<void()> on_listening) {
  PluginSide& side = *plugins_;
  const std::uint64_t id = side.next_id++;
  side.watchers.emplace(id, std::move(on_listening));
  if (!side.patrol) {
    side.patrol = std::make_unique<DirectoryPatrol>(
        *loop_, options_.directory, options_.patrol,
        [self = &side](DirectoryPatrol::Why why) { self->look(why); });
  } else if (side.announced) {
    side.announce(id);
  }
  return std::make_unique<OnDrop>([weak = std::weak_ptr(plugins_), id] {
    const auto state = weak.lock();
    if (state && state->watchers.erase(id) > 0 && state->watchers.empty()) {
      state->patrol.reset();
      state->announced.reset();
    }
  });
}

void KubeletDirectory::register_plugin(RegisterRequest request, Done<void> done) {
  const auto refuse = [&](Error error) {
    loop_->post([done, error = std::move(error)] { done(tl::unexpected(error)); });
  };
  if (!request.endpoint) {
    refuse({.code = Code::Internal, .message = "a registration without a plugin"});
    return;
  }
  if (!socket_at(plugins_->kubelet)) {
    refuse({.code = Code::Unavailable,
            .message = fmt::format("{}: no kubelet listens", plugins_->kubelet)});
    return;
  }
  auto name = plugins_->sockets.serve(request.resource_name, std::move(request.endpoint));
  if (!name) {
    plugins_->announced.reset(); // to be tried again at the next look
    refuse(std::move(name).error());
    return;
  }
  v1beta1::RegisterRequest message;
  message.set_version(request.version);
  message.set_endpoint(*std::move(name));
  message.set_resource_name(request.resource_name);
  plugins_->send(request.resource_name, message, std::move(done));
}

} // namespace berth::deviceplugin
