#include "berth/deviceplugin/local_kubelet_socket.h"

#include <cstdint>
#include <map>
#include <utility>

namespace berth::deviceplugin {

struct LocalKubeletSocket::State {
  Loop* loop = nullptr;
  Registration* server = nullptr;
  std::uint64_t server_id = 0; ///< which listen() `server` belongs to
  std::uint64_t next_id = 1;
  std::map<std::uint64_t, std::function<void()>> watchers;
};

namespace {

// Runs a task when it goes.
class OnDrop final : public KubeletSocket::Handle {
 public:
  explicit OnDrop(Task task) : task_(std::move(task)) {}
  ~OnDrop() override { task_(); }

 private:
  Task task_;
};

} // namespace

LocalKubeletSocket::LocalKubeletSocket(Loop& loop) : state_(std::make_shared<State>()) {
  state_->loop = &loop;
}

LocalKubeletSocket::~LocalKubeletSocket() = default;

Result<std::unique_ptr<KubeletSocket::Handle>> LocalKubeletSocket::listen(Registration& server) {
  const std::uint64_t id = state_->next_id++;
  state_->server = &server;
  state_->server_id = id;
  for (const auto& entry : state_->watchers) {
    state_->loop->post([weak = std::weak_ptr(state_), watcher = entry.first] {
      const auto state = weak.lock();
      if (state && state->watchers.contains(watcher)) {
        const auto on_listening = state->watchers[watcher];
        on_listening();
      }
    });
  }
  return std::make_unique<OnDrop>([weak = std::weak_ptr(state_), id] {
    const auto state = weak.lock();
    if (state && state->server_id == id) {
      state->server = nullptr;
    }
  });
}

std::unique_ptr<KubeletSocket::Handle>
LocalKubeletSocket::watch(std::function<void()> on_listening) {
  const std::uint64_t id = state_->next_id++;
  state_->watchers.emplace(id, std::move(on_listening));
  if (state_->server) {
    state_->loop->post([weak = std::weak_ptr(state_), id] {
      const auto state = weak.lock();
      if (state && state->watchers.contains(id)) {
        const auto on_now = state->watchers[id];
        on_now();
      }
    });
  }
  return std::make_unique<OnDrop>([weak = std::weak_ptr(state_), id] {
    if (const auto state = weak.lock()) {
      state->watchers.erase(id);
    }
  });
}

void LocalKubeletSocket::register_plugin(RegisterRequest request, Done<void> done) {
  state_->loop->post([weak = std::weak_ptr(state_), request = std::move(request),
                      done = std::move(done)]() mutable {
    const auto state = weak.lock();
    if (!state || !state->server) {
      done(fail(Code::Unavailable, "kubelet.sock: connection refused: no kubelet listens"));
      return;
    }
    state->server->register_plugin(std::move(request), std::move(done));
  });
}

} // namespace berth::deviceplugin
