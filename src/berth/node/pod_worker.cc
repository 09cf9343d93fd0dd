#include "berth/node/pod_worker.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/api/same.h"
#include "berth/base/assert.h"
#include "berth/model/hami.h"
#include "berth/node/container_start.h"
#include "berth/node/pod_status.h"

namespace berth::node {

using client::EventType;

namespace {

/// A state that is over sooner is not written. kubelet hears of its containers once a second.
constexpr Duration kPassing = Duration::seconds(1);

/// Of its node, whatever else of the pod has changed.
bool asks_the_same(const api::Object& before, const api::Object& now) {
  const api::ObjectMeta& was = before.meta();
  const api::ObjectMeta& is = now.meta();
  const api::json::value* spec_before = api::find(before.json(), "spec");
  const api::json::value* spec_now = api::find(now.json(), "spec");
  return was.deletion_timestamp == is.deletion_timestamp &&
         was.deletion_grace_period_seconds == is.deletion_grace_period_seconds &&
         was.annotations == is.annotations && was.labels == is.labels &&
         was.finalizers == is.finalizers && spec_before && spec_now &&
         api::same(*spec_before, *spec_now);
}

} // namespace

PodWorker::PodWorker(WorkerPlace place, const api::Object& pod)
    : place_(std::move(place)), wake_(*place_.loop), deadline_(*place_.loop),
      device_wait_(*place_.loop), status_wait_(*place_.loop) {
  auto view = model::pod_view(pod);
  BERTH_ASSERT(view.has_value(), to_string(view.error()));
  pod_ = *std::move(view);
  start_time_ = pod_->status.start_time ? pod_->status.start_time : now();
  verdict_ = stored_verdict(*pod_);
}

void PodWorker::begin(api::Object pod) {
  const std::weak_ptr<PodWorker> weak = weak_from_this();
  writer_ = std::make_unique<PodWriter>(*place_.loop, *place_.client, std::move(pod),
                                        PodWriterEvents{.on_object =
                                                            [weak](api::Object newer) {
                                                              if (const auto self = weak.lock()) {
                                                                self->take(std::move(newer));
                                                              }
                                                            },
                                                        .on_gone =
                                                            [weak] {
                                                              if (const auto self = weak.lock()) {
                                                                self->gone();
                                                              }
                                                            }});
  taken_ = writer_->pod();
  containers_ =
      std::make_shared<PodRuntime>(*place_.runtime, *place_.devices, pod_->meta.uid, [weak] {
        if (const auto self = weak.lock()) {
          self->kick();
        }
      });
  if (place_.contents) {
    make_contents();
  }
  kick();
}

std::shared_ptr<PodWorker> PodWorker::make(WorkerPlace place, api::Object pod) {
  auto worker = std::shared_ptr<PodWorker>(new PodWorker(std::move(place), pod));
  worker->begin(std::move(pod));
  return worker;
}

void PodWorker::restore(PodRecord record) {
  admitted_ = true;
  containers_->restore(std::move(record));
  release_init_surplus(view());
  kick();
}

void PodWorker::gone() {
  object_gone_ = true;
  kick();
}

void PodWorker::on_event(const runtime::ContainerEvent& event) {
  containers_->apply(event);
  kick();
}

void PodWorker::devices_changed() {
  const bool waited = holds_.devices_changed();
  const auto healths = device_healths(*place_.devices, pod_->meta.uid);
  for (const HealthNews& each : health_.news(healths)) {
    if (each.health == DeviceHealth::Healthy) {
      event(EventType::Normal, "DeviceHealthy", each.message);
    } else {
      event(EventType::Warning, "DeviceUnhealthy", each.message);
    }
  }
  if (waited || !healths.empty()) {
    kick();
  }
}

void PodWorker::admit() {
  admitted_ = true;
  holds_.admitted();
  device_message_.clear();
  device_reason_.clear();
  device_wait_.cancel();
  kick();
}

void PodWorker::reject(std::string reason, const std::string& message) {
  if (ending()) {
    return;
  }
  event(EventType::Warning, reason, message);
  verdict_ = rejection(std::move(reason), message);
  tell_bind_phase("failed");
  kick();
}

void PodWorker::wait(const std::string& message, const std::string& reason) {
  if (ending()) {
    return;
  }
  device_reason_ = reason;
  holds_.not_admitted(*pod_, message);
  hold_for_devices(message);
  kick();
}

bool PodWorker::settled() const {
  if (containers_->busy() || (contents_ && contents_->busy()) || sync_posted_ ||
      device_wait_.armed() || status_wait_.armed() || !(object_gone_ || writer_->clean())) {
    return false;
  }
  if (wake_.armed() && (ending() || !repeating())) {
    return false;
  }
  return finished_ ? !object_gone_ : admitted_ && !ending();
}

std::string PodWorker::describe() const {
  const std::string_view what = removed_              ? "removed"
                                : finished_           ? "finished"
                                : ending()            ? "stopping"
                                : !admitted_          ? "waiting for admission"
                                : containers_->busy() ? "asking the runtime"
                                : wake_.armed()       ? "backing off"
                                                      : "running";
  return fmt::format("{}: {}{}", pod_->key().to_string(), what,
                     device_wait_.armed() ? ", waiting for devices" : "");
}

void PodWorker::kick() {
  if (sync_posted_ || removed_) {
    return;
  }
  sync_posted_ = true;
  place_.loop->post([weak = weak_from_this()] {
    if (const auto self = weak.lock()) {
      self->sync_posted_ = false;
      self->sync();
    }
  });
}

void PodWorker::update(api::Object newer) {
  const bool known = newer.meta().uid == object().meta().uid &&
                     newer.meta().resource_version <= object().meta().resource_version;
  if (!known) { // what this worker wrote, it was told of with the answer
    take(std::move(newer));
  }
}

void PodWorker::take(api::Object newer) {
  writer_->observe(std::move(newer));
  const api::Object before = std::exchange(taken_, object());
  if (auto decoded = model::pod_view(object())) {
    pod_ = *decoded;
  }
  const bool had_verdict = verdict_.has_value();
  if (!had_verdict) {
    verdict_ = stored_verdict(*pod_);
  }
  if (contents_) {
    contents_->update(object());
  }
  // Most news of a pod is that its status is stored as it was sent: there is nothing to do then.
  if (verdict_.has_value() != had_verdict || !writer_->clean() ||
      !asks_the_same(before, object())) {
    kick();
  }
}

void PodWorker::wake_at(TimePoint time) {
  wake_.set(time - now(), [this] { kick(); });
}

void PodWorker::event(EventType type, std::string_view reason, const std::string& message) {
  place_.events->record(object(), type, reason, message);
}

void PodWorker::sync() {
  if (containers_->busy() || removed_) {
    return;
  }
  wake_.cancel();
  if (contents_) {
    probes_->follow(object(), view(), ending() ? PodCourse::Ending : PodCourse::Running);
  }
  if (ending()) {
    stop(view());
  } else if (admitted_) {
    tell_bind_phase("success");
    run(view());
  }
  if (limits_) {
    ending() ? limits_->stop() : limits_->watch();
  }
  if (in_passing()) {
    write_status_soon();
  } else {
    write_status();
  }
  if (finished_ && object_gone_ && !containers_->busy()) {
    clean_up();
  } else if (finished_ && deleting()) {
    writer_->remove();
  }
}

// HAMi's scheduler waits for it to change.
void PodWorker::tell_bind_phase(std::string_view phase) {
  const auto now_is = pod_->meta.annotations.find(model::hami::kBindPhase);
  if (place_.tells_hami && now_is != pod_->meta.annotations.end() &&
      now_is->second == model::hami::kAllocating) {
    writer_->annotate(model::hami::kBindPhase, std::string(phase));
  }
}

void PodWorker::release_init_surplus(const PodView& now_is) {
  if (now_is.init_phase_over() && !init_surplus_released_) {
    init_surplus_released_ = true;
    place_.devices->release_init_surplus(*pod_);
  }
}

void PodWorker::run(const PodView& now_is) {
  set_deadline();
  if (verdict_) {
    stop(now_is);
    return;
  }
  for (const std::string& name : holds_.show_backoff(now_is, now())) {
    event(EventType::Warning, "BackOff",
          fmt::format("Back-off restarting failed container {} in pod {}", name, log_name(*pod_)));
  }
  release_init_surplus(now_is);
  const PodAction action = next_action(now_is, holds_.held(), now());
  const bool ground = has_ground(now_is);
  switch (action.kind) {
  case PodAction::Kind::Nothing:
    if (action.not_before && *action.not_before != TimePoint::max()) {
      wake_at(*action.not_before);
    }
    return;
  case PodAction::Kind::CreateSandbox:
    if (ground) {
      create_sandbox(now_is);
    }
    return;
  case PodAction::Kind::StartContainer:
    if (ground) {
      start(now_is, action);
    }
    return;
  case PodAction::Kind::StopContainer:
  case PodAction::Kind::Finish:
    verdict_ = Verdict{outcome_of(now_is) == Outcome::Succeeded ? "Succeeded" : "Failed", {}};
    stop(now_is);
    return;
  }
}

void PodWorker::set_deadline() {
  const auto seconds = pod_->spec.active_deadline_seconds;
  if (!seconds || !start_time_) {
    deadline_.cancel();
    return;
  }
  const TimePoint at = *start_time_ + Duration::seconds(*seconds);
  if (at <= now()) {
    verdict_ = deadline_exceeded();
    event(EventType::Normal, verdict_->why.reason, verdict_->why.message);
  } else if (!deadline_.armed()) {
    deadline_.set(at - now(), [this] { kick(); });
  }
}

PodView PodWorker::view() const {
  PodView now_is = make_pod_view(*pod_, containers_->record());
  if (contents_) {
    probes_->mark(now_is);
    hooks_->mark(now_is);
  }
  return now_is;
}

void PodWorker::stop(const PodView& now_is) {
  device_wait_.cancel();
  deadline_.cancel();
  for (const StopOrder& order : stops_.orders(now_is, grace_of(object(), *pod_), now())) {
    if (order.first) {
      event(EventType::Normal, "Killing", fmt::format("Stopping container {}", order.container));
    }
    stop_container(order.id, order.container, order.grace);
  }
  if (now_is.any_running()) {
    return;
  }
  if (now_is.sandbox_ready()) {
    containers_->stop_sandbox(now_is.sandbox->id);
    return;
  }
  finish(now_is);
}

void PodWorker::finish(const PodView& now_is) {
  if (finished_) {
    return;
  }
  finished_ = true;
  place_.devices->release(pod_->meta.uid);
  if (contents_) {
    contents_->tear_down(pod_->meta.uid);
  }
  if (!verdict_) {
    verdict_ = stopped_verdict(now_is);
  }
  place_.on_release();
}

// The object is gone: so is, after this, everything of it here.
void PodWorker::clean_up() {
  const auto& sandboxes = containers_->record().sandboxes;
  if (sandboxes.empty() && files_ != Files::Gone) {
    if (files_ == Files::There) {
      files_ = Files::Going;
      place_.contents->remove_pod(pod_->meta.uid, [weak = weak_from_this()](const Result<void>&) {
        if (const auto self = weak.lock()) {
          self->files_ = Files::Gone;
          self->kick();
        }
      });
    }
    return;
  }
  if (sandboxes.empty()) {
    removed_ = true;
    place_.on_release();
    return;
  }
  const std::string id = sandboxes.begin()->first;
  containers_->remove_sandbox(id);
}

void PodWorker::create_sandbox(const PodView& now_is) {
  const auto hold = holds_.held().find(StartHolds::kSandbox);
  if (hold != holds_.held().end() && hold->second > now()) {
    wake_at(hold->second);
    return;
  }
  const std::uint32_t attempt = now_is.sandbox ? now_is.sandbox->attempt + 1 : 0;
  runtime::SandboxConfig config = make_sandbox_config(*pod_, attempt);
  if (contents_ && !complete_sandbox(config)) {
    return;
  }
  containers_->run_sandbox(std::move(config), [weak = weak_from_this()](const Result<void>& made) {
    const auto self = weak.lock();
    if (!self) {
      return;
    }
    if (made) {
      self->holds_.started(StartHolds::kSandbox);
      self->init_surplus_released_ = false;
    } else if (made.error().code == Code::AlreadyExists) {
      self->holds_.under_way(StartHolds::kSandbox, self->now());
    } else {
      self->event(EventType::Warning, "FailedCreatePodSandBox",
                  fmt::format("Failed to create pod sandbox: {}", made.error().message));
      self->holds_.failed(StartHolds::kSandbox, self->now());
    }
  });
}

/// Some plugin gives NVIDIA's devices here, or gave them.
bool PodWorker::gives_gpus() const {
  return std::ranges::any_of(place_.devices->plugins().resources(), [](const std::string& name) {
    return name.starts_with("nvidia.com/");
  });
}

void PodWorker::start(const PodView& now_is, const PodAction& action) {
  const ContainerView& each = now_is.containers[action.container];
  StartOrder order = make_start_order(object(), pod_, now_is, action.container, action.delay);
  order.host_ip = place_.host_ip;
  order.gpu_machine = place_.has_gpus || gives_gpus() ? ContainerPlan::GpuMachine::Yes
                                                      : ContainerPlan::GpuMachine::No;
  if (contents_ && !take_contents(each, order)) {
    return;
  }
  containers_->start(std::move(order), [weak = weak_from_this(), name = each.spec->name,
                                        role = each.role](const StartResult& result) {
    if (const auto self = weak.lock()) {
      self->started(name, role, result);
    }
  });
}

void PodWorker::started(const std::string& name, Role role, const StartResult& result) {
  switch (result.kind) {
  case StartResult::Kind::Started:
    holds_.started(name);
    device_wait_.cancel();
    event(EventType::Normal, "Started", fmt::format("Started container {}", name));
    if (hooks_) {
      hooks_->post_start(object(), {.id = result.status.id, .name = name, .pod = reach()});
    }
    return;
  case StartResult::Kind::DevicesWait:
    hold_for_devices(result.why.message);
    holds_.needs_devices(name, role, result.why.message);
    return;
  case StartResult::Kind::DevicesRejected:
    if (!verdict_) {
      verdict_ = allocation_failure(result.why.message, result.why.reason);
      event(EventType::Warning, verdict_->why.reason, verdict_->why.message);
    }
    return;
  case StartResult::Kind::UnderWay:
    holds_.under_way(name, now());
    return;
  case StartResult::Kind::Failed:
    if (holds_.failed(name, result.why, now())) {
      event(EventType::Warning, "Failed", fmt::format("Error: {}", result.why.message));
    }
    return;
  }
}

// Devices that are to come are waited for, but not for ever.
void PodWorker::hold_for_devices(const std::string& message) {
  if (device_message_ != message) {
    event(EventType::Warning, "WaitingForDevices", fmt::format("waiting for devices: {}", message));
  }
  device_message_ = message;
  if (!device_wait_.armed()) {
    device_wait_.set(place_.device_wait, [this] { devices_did_not_come(); });
  }
}

void PodWorker::devices_did_not_come() {
  if (verdict_) {
    return;
  }
  const Verdict failure = allocation_failure(device_message_, device_reason_);
  verdict_ = admitted_ ? failure : rejection(failure.why.reason, failure.why.message);
  event(EventType::Warning, failure.why.reason, failure.why.message);
  kick();
}

/// What is so now is about to be otherwise: devices are being chosen, or the runtime is at work on
/// a pod that is known to be starting.
bool PodWorker::in_passing() const {
  return !ending() && (admitted_ ? told_ && containers_->busy() : device_message_.empty());
}

void PodWorker::write_status_soon() {
  if (!status_wait_.armed()) {
    status_wait_.set(kPassing, [this] { write_status(); });
  }
}

void PodWorker::write_status() {
  status_wait_.cancel();
  told_ = admitted_;
  if (object_gone_) {
    return;
  }
  writer_->put_status([this](const api::json::value* stored) { return status(stored); });
}

api::json::object PodWorker::status(const api::json::value* stored) const {
  StatusFacts facts{.start_time = start_time_,
                    .host_ip = place_.host_ip,
                    .waiting = holds_.waiting(),
                    .devices = device_healths(*place_.devices, pod_->meta.uid),
                    .now = now()};
  if (contents_) {
    add_facts(facts, stored);
  }
  if (finished_ && verdict_) {
    facts.final_phase = verdict_->phase;
    facts.verdict = verdict_->why;
    facts.waiting.clear();
  }
  return make_pod_status(view(), facts, stored);
}

} // namespace berth::node
