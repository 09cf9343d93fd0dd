// The part of a pod's worker that only a real machine has: what it does with volumes, prepared
// containers, probes and hooks. On a simulated machine none of this is called.
#include <utility>

#include <fmt/format.h>

#include "berth/node/container_start.h"
#include "berth/node/pod_worker.h"
#include "berth/node/readiness_gates.h"

namespace berth::node {

using client::EventType;

void PodWorker::make_contents() {
  files_ = Files::There;
  const std::weak_ptr<PodWorker> weak = weak_from_this();
  const Tell tell = [weak](EventType type, std::string_view reason, const std::string& message) {
    if (const auto self = weak.lock()) {
      self->event(type, reason, message);
    }
  };
  const auto on_change = [weak] {
    if (const auto self = weak.lock()) {
      self->kick();
    }
  };
  contents_ = std::make_shared<PodContents>(
      *place_.contents, place_.amounts, place_.host_ip,
      PodContentsEvents{
          .tell = tell,
          .on_change = on_change,
          .on_failure = [weak](const std::string& container, const Preparation& failed) {
            if (const auto self = weak.lock()) {
              self->holds_.hold(container, failed.why, self->now() + failed.retry_after);
            }
          }});
  const CheckPlace checks{.loop = place_.loop,
                          .runtime = place_.runtime,
                          .network = place_.contents->place().network,
                          .host_ip = place_.host_ip};
  probes_ = std::make_unique<PodProbes>(
      checks, PodProbesEvents{.tell = tell,
                              .on_change = on_change,
                              .on_failed = [weak](const std::string& id, const std::string& why,
                                                  std::optional<Duration> grace) {
                                if (const auto self = weak.lock()) {
                                  self->end_unhealthy(id, why, grace);
                                }
                              }});
  limits_ = std::make_shared<EmptyDirLimits>(
      *place_.loop, *place_.contents->place().background,
      limited_folders(object().json(), pod_->meta.uid, place_.contents->options().kubelet_root),
      [weak](const std::string& message) {
        if (const auto self = weak.lock(); self && !self->ending()) {
          self->event(EventType::Warning, "Evicted", message);
          self->verdict_ = Verdict{"Failed", {"Evicted", message}};
          self->kick();
        }
      });
  hooks_ = std::make_shared<PodHooks>(
      checks, PodHooksEvents{
                  .tell = tell, .on_change = on_change, .on_failed = [weak](const std::string& id) {
                    if (const auto self = weak.lock()) {
                      self->end_unhealthy(id, "FailedPostStartHook", std::nullopt);
                    }
                  }});
}

PodReach PodWorker::reach() const {
  return reach_of(view(), place_.host_ip);
}

// Whether the pod's volumes are there. They are worked on if they are not, also those of a pod that
// an earlier agent has started.
bool PodWorker::has_ground(const PodView& now_is) {
  return !contents_ || contents_->volumes_ready(object(), now_is.sandbox ? now_is.sandbox->ip : "");
}

bool PodWorker::complete_sandbox(runtime::SandboxConfig& config) {
  const auto completed = contents_->complete(object(), *pod_, config);
  if (!completed) {
    event(EventType::Warning, "FailedCreatePodSandBox",
          fmt::format("Failed to create pod sandbox: {}", completed.error().message));
    holds_.failed(StartHolds::kSandbox, now());
    kick();
  }
  return completed.has_value();
}

// Whether the container can be made now; if not, it is being got ready.
bool PodWorker::take_contents(const ContainerView& each, StartOrder& order) {
  if (hooks_->starting()) {
    return false; // the container before it is not done with its own start
  }
  if (order.created_id.empty()) {
    order.contents = contents_->take(object(), pod_, each, order.pod_ip);
  }
  return !order.created_id.empty() || order.contents.has_value();
}

void PodWorker::add_facts(StatusFacts& facts, const api::json::value* stored) const {
  facts.messages = contents_->messages(object(), view());
  facts.missing_gates = missing_gates(object().json(), stored);
}

// Asks it to end, after its preStop hook if it has one.
void PodWorker::stop_container(const std::string& id, const std::string& name, Duration grace) {
  if (!hooks_) {
    containers_->stop_container(id, grace);
    return;
  }
  hooks_->pre_stop(object(), {.id = id, .name = name, .pod = reach()}, grace,
                   [weak = weak_from_this(), id](Duration left) {
                     if (const auto self = weak.lock()) {
                       self->containers_->stop_container(id, left);
                     }
                   });
}

// A container that runs and should not: its end is an event like any other, and what follows is the
// restart policy's.
void PodWorker::end_unhealthy(const std::string& id, const std::string& why,
                              std::optional<Duration> grace) {
  const auto found = containers_->record().containers.find(id);
  if (ending() || found == containers_->record().containers.end()) {
    return;
  }
  event(EventType::Normal, "Killing", why);
  stop_container(id, found->second.name, grace.value_or(grace_of(object(), *pod_)));
}

} // namespace berth::node
