#include "berth/node/pod_runtime.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace berth::node {

PodRuntime::PodRuntime(runtime::Runtime& runtime, DeviceManager& devices, std::string pod_uid,
                       std::function<void()> on_change)
    : runtime_(&runtime), devices_(&devices), pod_uid_(std::move(pod_uid)),
      on_change_(std::move(on_change)) {}

// Runs `next` on the answer while this lives, then tells.
template <class F> auto PodRuntime::then(F next) {
  busy_ = true;
  return [weak = weak_from_this(), next = std::move(next)](auto&& answer) {
    if (const auto self = weak.lock()) {
      self->busy_ = false;
      next(*self, std::forward<decltype(answer)>(answer));
      self->on_change_();
    }
  };
}

void PodRuntime::restore(PodRecord record) {
  record_ = std::move(record);
}

void PodRuntime::apply(const runtime::ContainerEvent& event) {
  apply_event(record_, event);
}

void PodRuntime::run_sandbox(runtime::SandboxConfig config,
                             std::function<void(const Result<void>&)> done) {
  runtime_->run_pod_sandbox(
      std::move(config),
      then([done = std::move(done)](PodRuntime& self, Result<runtime::SandboxStatus> made) {
        if (made) {
          const std::string id = made->id;
          self.record_.sandboxes[id] = *std::move(made);
          done({});
          return;
        }
        done(tl::unexpected(made.error()));
        self.relist();
      }));
}

void PodRuntime::stop_sandbox(const std::string& id) {
  runtime_->stop_pod_sandbox(id, then([id](PodRuntime& self, const Result<void>&) {
                               self.record_.sandboxes[id].state = runtime::SandboxState::NotReady;
                             }));
}

void PodRuntime::remove_sandbox(const std::string& id) {
  runtime_->remove_pod_sandbox(
      id, then([id](PodRuntime& self, const Result<void>&) { self.record_.sandboxes.erase(id); }));
}

void PodRuntime::start(StartOrder order, std::function<void(const StartResult&)> done) {
  const std::string name = order.container->name;
  start_container(*devices_, *runtime_, weak_from_this(), std::move(order),
                  then([name, done = std::move(done)](PodRuntime& self, const StartResult& result) {
                    if (result.kind == StartResult::Kind::Started) {
                      const auto [it, added] =
                          self.record_.containers.emplace(result.status.id, result.status);
                      if (!added && it->second.state <= result.status.state) {
                        it->second = result.status;
                      }
                    }
                    done(result);
                    if (result.kind == StartResult::Kind::Started) {
                      self.drop_old_attempts(name);
                    } else if (result.kind == StartResult::Kind::UnderWay ||
                               result.kind == StartResult::Kind::Failed) {
                      self.relist();
                    }
                  }));
}

void PodRuntime::stop_container(const std::string& id, Duration grace) {
  runtime_->stop_container(id, grace, [weak = weak_from_this(), id](const Result<void>&) {
    if (const auto self = weak.lock()) {
      self->look_at(id);
    }
  });
}

void PodRuntime::look_at(const std::string& container) {
  runtime_->container_status(
      container, [weak = weak_from_this()](const Result<runtime::ContainerStatus>& now_is) {
        const auto self = weak.lock();
        if (self && now_is) {
          apply_event(self->record_, {runtime::ContainerEvent::Type::Stopped, *now_is});
          self->on_change_();
        }
      });
}

// What the runtime does not do as asked may have been asked before, by an agent that is gone: look
// what is there.
void PodRuntime::relist() {
  runtime_->list(then([](PodRuntime& self, Result<runtime::Listing> listing) {
    if (!listing) {
      return;
    }
    self.record_ = {};
    for (runtime::SandboxStatus& sandbox : listing->sandboxes) {
      if (sandbox.uid == self.pod_uid_) {
        self.record_.sandboxes.emplace(sandbox.id, std::move(sandbox));
      }
    }
    for (runtime::ContainerStatus& container : listing->containers) {
      if (container.pod_uid == self.pod_uid_) {
        self.record_.containers.emplace(container.id, std::move(container));
      }
    }
  }));
}

// The runtime keeps the attempt that counts and the one before.
void PodRuntime::drop_old_attempts(const std::string& name) {
  std::vector<std::pair<std::uint32_t, std::string>> attempts;
  for (const auto& [id, status] : record_.containers) {
    if (status.name == name) {
      attempts.emplace_back(status.attempt, id);
    }
  }
  std::ranges::sort(attempts, std::greater<>());
  for (std::size_t i = 2; i < attempts.size(); ++i) {
    runtime_->remove_container(attempts[i].second, [](const Result<void>&) {});
    record_.containers.erase(attempts[i].second);
  }
}

} // namespace berth::node
