#include "berth/node/pod_worker.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "berth/base/assert.h"
#include "berth/node/container_start.h"
#include "berth/node/device_health_watch.h"
#include "berth/node/pod_actions.h"
#include "berth/node/pod_runtime.h"
#include "berth/node/pod_status.h"
#include "berth/node/pod_verdict.h"
#include "berth/node/pod_writer.h"
#include "berth/node/start_holds.h"
#include "berth/node/stop_deadlines.h"

namespace berth::node {

using client::EventType;

struct PodWorker::State : std::enable_shared_from_this<State> {
  WorkerPlace place;
  std::shared_ptr<const model::Pod> pod;
  std::shared_ptr<PodRuntime> containers;
  std::unique_ptr<PodWriter> writer;
  std::optional<TimePoint> start_time;

  bool admitted = false;
  bool object_gone = false;
  bool sync_posted = false;
  bool finished = false;
  bool removed = false;
  bool init_surplus_released = false;
  std::optional<Verdict> verdict;
  StartHolds holds;
  StopDeadlines stops;
  DeviceHealthWatch health;
  std::string device_message; ///< why devices are waited for
  Timer wake;
  Timer deadline;
  Timer device_wait;

  State(WorkerPlace at, std::shared_ptr<const model::Pod> view)
      : place(std::move(at)), pod(std::move(view)), wake(*place.loop), deadline(*place.loop),
        device_wait(*place.loop) {}

  const api::Object& object() const { return writer->pod(); }
  TimePoint now() const { return place.loop->now(); }
  PodView view() const { return make_pod_view(*pod, containers->record()); }
  bool deleting() const { return object().meta().deletion_timestamp.has_value(); }
  bool ending() const { return object_gone || verdict || deleting(); }

  void observe(api::Object newer);
  void kick();
  void sync();
  void run(const PodView& now_is);
  void stop(const PodView& now_is);
  void finish(const PodView& now_is);
  void clean_up();
  void create_sandbox(const PodView& now_is);
  void start(const PodView& now_is, const PodAction& action);
  void started(const std::string& name, Role role, const StartResult& result);
  void hold_for_devices(const std::string& message);
  void devices_did_not_come();
  void write_status();
  void set_deadline();
  void event(EventType type, std::string_view reason, const std::string& message) {
    place.events->record(object(), type, reason, message);
  }
  void wake_at(TimePoint time) {
    wake.set(time - now(), [this] { kick(); });
  }
};

void PodWorker::State::kick() {
  if (sync_posted || removed) {
    return;
  }
  sync_posted = true;
  place.loop->post([weak = weak_from_this()] {
    if (const auto state = weak.lock()) {
      state->sync_posted = false;
      state->sync();
    }
  });
}

void PodWorker::State::observe(api::Object newer) {
  writer->observe(std::move(newer));
  if (auto decoded = model::pod_view(object())) {
    pod = *decoded;
  }
  if (!verdict) {
    verdict = stored_verdict(*pod);
  }
  kick();
}

void PodWorker::State::sync() {
  if (containers->busy() || removed) {
    return;
  }
  wake.cancel();
  if (ending()) {
    stop(view());
  } else if (admitted) {
    run(view());
  }
  write_status();
  if (finished && object_gone && !containers->busy()) {
    clean_up();
  } else if (finished && deleting()) {
    writer->remove();
  }
}

void PodWorker::State::run(const PodView& now_is) {
  set_deadline();
  if (verdict) {
    stop(now_is);
    return;
  }
  for (const std::string& name : holds.show_backoff(now_is, now())) {
    event(EventType::Warning, "BackOff",
          fmt::format("Back-off restarting failed container {} in pod {}", name, log_name(*pod)));
  }
  if (now_is.init_phase_over() && !init_surplus_released) {
    init_surplus_released = true;
    place.devices->release_init_surplus(*pod);
  }
  const PodAction action = next_action(now_is, holds.held(), now());
  switch (action.kind) {
  case PodAction::Kind::Nothing:
    if (action.not_before && *action.not_before != TimePoint::max()) {
      wake_at(*action.not_before);
    }
    return;
  case PodAction::Kind::CreateSandbox:
    create_sandbox(now_is);
    return;
  case PodAction::Kind::StartContainer:
    start(now_is, action);
    return;
  case PodAction::Kind::StopContainer:
  case PodAction::Kind::Finish:
    verdict = Verdict{outcome_of(now_is) == Outcome::Succeeded ? "Succeeded" : "Failed", {}};
    stop(now_is);
    return;
  }
}

void PodWorker::State::set_deadline() {
  const auto seconds = pod->spec.active_deadline_seconds;
  if (!seconds || !start_time) {
    deadline.cancel();
    return;
  }
  const TimePoint at = *start_time + Duration::seconds(*seconds);
  if (at <= now()) {
    verdict = deadline_exceeded();
    event(EventType::Normal, verdict->why.reason, verdict->why.message);
  } else if (!deadline.armed()) {
    deadline.set(at - now(), [this] { kick(); });
  }
}

void PodWorker::State::stop(const PodView& now_is) {
  device_wait.cancel();
  deadline.cancel();
  for (const StopOrder& order : stops.orders(now_is, grace_of(object(), *pod), now())) {
    if (order.first) {
      event(EventType::Normal, "Killing", fmt::format("Stopping container {}", order.container));
    }
    containers->stop_container(order.id, order.grace);
  }
  if (now_is.any_running()) {
    return;
  }
  if (now_is.sandbox_ready()) {
    containers->stop_sandbox(now_is.sandbox->id);
    return;
  }
  finish(now_is);
}

void PodWorker::State::finish(const PodView& now_is) {
  if (finished) {
    return;
  }
  finished = true;
  place.devices->release(pod->meta.uid);
  if (!verdict) {
    verdict = stopped_verdict(now_is);
  }
  place.on_release();
}

// The object is gone: so is, after this, everything of it here.
void PodWorker::State::clean_up() {
  const auto& sandboxes = containers->record().sandboxes;
  if (sandboxes.empty()) {
    removed = true;
    place.on_release();
    return;
  }
  const std::string id = sandboxes.begin()->first;
  containers->remove_sandbox(id);
}

void PodWorker::State::create_sandbox(const PodView& now_is) {
  const auto hold = holds.held().find(StartHolds::kSandbox);
  if (hold != holds.held().end() && hold->second > now()) {
    wake_at(hold->second);
    return;
  }
  const std::uint32_t attempt = now_is.sandbox ? now_is.sandbox->attempt + 1 : 0;
  containers->run_sandbox(
      make_sandbox_config(*pod, attempt), [weak = weak_from_this()](const Result<void>& made) {
        const auto state = weak.lock();
        if (!state) {
          return;
        }
        if (made) {
          state->holds.started(StartHolds::kSandbox);
          state->init_surplus_released = false;
        } else if (made.error().code == Code::AlreadyExists) {
          state->holds.under_way(StartHolds::kSandbox, state->now());
        } else {
          state->event(EventType::Warning, "FailedCreatePodSandBox",
                       fmt::format("Failed to create pod sandbox: {}", made.error().message));
          state->holds.failed(StartHolds::kSandbox, state->now());
        }
      });
}

void PodWorker::State::start(const PodView& now_is, const PodAction& action) {
  const ContainerView& each = now_is.containers[action.container];
  StartOrder order = make_start_order(object(), pod, now_is, action.container, action.delay);
  order.host_ip = place.host_ip;
  order.gpu_machine = place.gpu_machine;
  containers->start(std::move(order), [weak = weak_from_this(), name = each.spec->name,
                                       role = each.role](const StartResult& result) {
    if (const auto state = weak.lock()) {
      state->started(name, role, result);
    }
  });
}

void PodWorker::State::started(const std::string& name, Role role, const StartResult& result) {
  switch (result.kind) {
  case StartResult::Kind::Started:
    holds.started(name);
    device_wait.cancel();
    event(EventType::Normal, "Started", fmt::format("Started container {}", name));
    return;
  case StartResult::Kind::DevicesWait:
    hold_for_devices(result.why.message);
    holds.needs_devices(name, role, result.why.message);
    return;
  case StartResult::Kind::DevicesRejected:
    if (!verdict) {
      verdict = allocation_failure(result.why.message);
      event(EventType::Warning, verdict->why.reason, verdict->why.message);
    }
    return;
  case StartResult::Kind::UnderWay:
    holds.under_way(name, now());
    return;
  case StartResult::Kind::Failed:
    if (holds.failed(name, result.why, now())) {
      event(EventType::Warning, "Failed", fmt::format("Error: {}", result.why.message));
    }
    return;
  }
}

// Devices that are to come are waited for, but not for ever.
void PodWorker::State::hold_for_devices(const std::string& message) {
  if (device_message != message) {
    event(EventType::Warning, "WaitingForDevices", fmt::format("waiting for devices: {}", message));
  }
  device_message = message;
  if (!device_wait.armed()) {
    device_wait.set(place.device_wait, [this] { devices_did_not_come(); });
  }
}

void PodWorker::State::devices_did_not_come() {
  if (verdict) {
    return;
  }
  const Verdict failure = allocation_failure(device_message);
  verdict = admitted ? failure : rejection(failure.why.reason, failure.why.message);
  event(EventType::Warning, failure.why.reason, failure.why.message);
  kick();
}

void PodWorker::State::write_status() {
  if (object_gone) {
    return;
  }
  StatusFacts facts{.start_time = start_time,
                    .host_ip = place.host_ip,
                    .waiting = holds.waiting(),
                    .devices = device_healths(*place.devices, pod->meta.uid),
                    .now = now()};
  if (finished) {
    facts.final_phase = verdict->phase;
    facts.verdict = verdict->why;
    facts.waiting.clear();
  }
  writer->put_status(make_pod_status(view(), facts, api::find(object().json(), "status")));
}

PodWorker::PodWorker(WorkerPlace place, api::Object pod) {
  auto view = model::pod_view(pod);
  BERTH_ASSERT(view.has_value(), to_string(view.error()));
  state_ = std::make_shared<State>(std::move(place), *std::move(view));
  State& state = *state_;
  state.start_time = state.pod->status.start_time ? state.pod->status.start_time : state.now();
  const std::weak_ptr<State> weak = state_;
  state.writer =
      std::make_unique<PodWriter>(*state.place.loop, *state.place.client, std::move(pod),
                                  PodWriterEvents{.on_object =
                                                      [weak](api::Object newer) {
                                                        if (const auto self = weak.lock()) {
                                                          self->observe(std::move(newer));
                                                        }
                                                      },
                                                  .on_gone =
                                                      [weak] {
                                                        if (const auto self = weak.lock()) {
                                                          self->object_gone = true;
                                                          self->kick();
                                                        }
                                                      }});
  state.containers = std::make_shared<PodRuntime>(*state.place.runtime, *state.place.devices,
                                                  state.pod->meta.uid, [weak] {
                                                    if (const auto self = weak.lock()) {
                                                      self->kick();
                                                    }
                                                  });
  state.verdict = stored_verdict(*state.pod);
  state.kick();
}

PodWorker::~PodWorker() {
  state_->wake.cancel();
  state_->deadline.cancel();
  state_->device_wait.cancel();
}

void PodWorker::restore(PodRecord record) {
  state_->admitted = true;
  state_->containers->restore(std::move(record));
  state_->kick();
}

void PodWorker::update(api::Object pod) {
  state_->observe(std::move(pod));
}

void PodWorker::gone() {
  state_->object_gone = true;
  state_->kick();
}

void PodWorker::on_event(const runtime::ContainerEvent& event) {
  state_->containers->apply(event);
  state_->kick();
}

void PodWorker::devices_changed() {
  const bool waited = state_->holds.devices_changed();
  const auto healths = device_healths(*state_->place.devices, state_->pod->meta.uid);
  for (const HealthNews& each : state_->health.news(healths)) {
    if (each.health == DeviceHealth::Healthy) {
      state_->event(EventType::Normal, "DeviceHealthy", each.message);
    } else {
      state_->event(EventType::Warning, "DeviceUnhealthy", each.message);
    }
  }
  if (waited || !healths.empty()) {
    state_->kick();
  }
}

void PodWorker::admit() {
  state_->admitted = true;
  state_->holds.admitted();
  state_->device_message.clear();
  state_->device_wait.cancel();
  state_->kick();
}

void PodWorker::reject(std::string reason, std::string message) {
  if (state_->ending()) {
    return;
  }
  state_->event(EventType::Warning, reason, message);
  state_->verdict = rejection(std::move(reason), message);
  state_->kick();
}

void PodWorker::wait(std::string message) {
  if (state_->ending()) {
    return;
  }
  state_->holds.not_admitted(*state_->pod, message);
  state_->hold_for_devices(message);
  state_->kick();
}

const std::shared_ptr<const model::Pod>& PodWorker::pod() const {
  return state_->pod;
}

bool PodWorker::wants_admission() const {
  return !state_->admitted && !state_->ending();
}

bool PodWorker::occupies() const {
  return state_->admitted && !state_->finished;
}

bool PodWorker::dying() const {
  return state_->ending() && !state_->finished;
}

bool PodWorker::finished() const {
  return state_->finished;
}

bool PodWorker::removed() const {
  return state_->removed;
}

bool PodWorker::settled() const {
  const State& state = *state_;
  if (state.containers->busy() || state.sync_posted || state.device_wait.armed() ||
      !(state.object_gone || state.writer->clean())) {
    return false;
  }
  if (state.wake.armed() && (state.ending() || !repeating())) {
    return false;
  }
  return state.finished ? !state.object_gone : state.admitted && !state.ending();
}

bool PodWorker::repeating() const {
  return repeats(state_->view());
}

std::string PodWorker::describe() const {
  const State& state = *state_;
  const std::string_view what = state.removed              ? "removed"
                                : state.finished           ? "finished"
                                : state.ending()           ? "stopping"
                                : !state.admitted          ? "waiting for admission"
                                : state.containers->busy() ? "asking the runtime"
                                : state.wake.armed()       ? "backing off"
                                                           : "running";
  return fmt::format("{}: {}{}", state.pod->key().to_string(), what,
                     state.device_wait.armed() ? ", waiting for devices" : "");
}

} // namespace berth::node
