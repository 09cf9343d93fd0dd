#include "berth/node/pod_worker.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/base/assert.h"
#include "berth/node/container_start.h"
#include "berth/node/pod_actions.h"
#include "berth/node/pod_status.h"
#include "berth/node/pod_writer.h"

namespace berth::node {
namespace {

using client::EventType;

constexpr std::int64_t kDefaultGraceSeconds = 30;
constexpr Duration kSidecarGrace = Duration::seconds(30);
constexpr Duration kUnderWay = Duration::seconds(1);
constexpr Duration kFirstRetry = Duration::seconds(10);
constexpr Duration kLastRetry = Duration::seconds(300);

std::string pod_text(const model::Pod& pod) {
  return fmt::format("{}_{}({})", pod.meta.name, pod.meta.ns, pod.meta.uid);
}

// How the pod ends, once nothing of it runs.
struct Verdict {
  std::string phase;
  Reason why;
};

Verdict allocation_failure(const std::string& message) {
  const std::string text = fmt::format("Allocate failed due to {}, which is unexpected", message);
  return {"Failed", {"UnexpectedAdmissionError", text}};
}

} // namespace

struct PodWorker::State : std::enable_shared_from_this<State> {
  WorkerPlace place;
  std::shared_ptr<const model::Pod> pod;
  PodRecord record;
  std::unique_ptr<PodWriter> writer;
  std::optional<TimePoint> start_time;

  bool admitted = false;
  bool object_gone = false;
  bool busy = false; ///< one request to the runtime or the device manager is out
  bool sync_posted = false;
  bool finished = false;
  bool removed = false;
  bool init_surplus_released = false;
  std::optional<Verdict> verdict;
  std::map<std::string, TimePoint> stop_deadlines; ///< container id to when SIGKILL comes
  std::map<std::string, TimePoint> held;   ///< container name ("" the sandbox) to when to try again
  std::map<std::string, Reason> waiting;   ///< container name to why it waits
  std::map<std::string, int> failures;     ///< container name ("" the sandbox) to failed starts
  std::set<std::string> announced_backoff; ///< ids of containers whose back-off has its event
  std::set<std::string> sick_devices;      ///< those that were announced
  std::string device_message;              ///< why devices are waited for
  Timer wake;
  Timer deadline;
  Timer device_wait;

  State(WorkerPlace at, std::shared_ptr<const model::Pod> view)
      : place(std::move(at)), pod(std::move(view)), wake(*place.loop), deadline(*place.loop),
        device_wait(*place.loop) {}

  const api::Object& object() const { return writer->pod(); }
  TimePoint now() const { return place.loop->now(); }
  PodView view() const { return make_pod_view(*pod, record); }
  bool deleting() const { return object().meta().deletion_timestamp.has_value(); }
  bool ending() const { return object_gone || verdict || deleting(); }

  void observe(api::Object newer);
  void see_terminal();
  void kick();
  void sync();
  void run(const PodView& view);
  void stop(const PodView& view);
  void look_at(const std::string& container);
  void finish(const PodView& view);
  void clean_up();
  void create_sandbox(const PodView& view);
  void start(const PodView& view, const PodAction& action);
  void started(const std::string& name, Role role, const StartResult& result);
  void start_failed(const std::string& name, const Reason& why);
  void relist();
  void hold_for_retry(const std::string& name);
  void drop_old_attempts(const std::string& name);
  void hold_for_devices(const std::string& message);
  void show_backoff(const PodView& view);
  void watch_devices();
  std::map<std::string, DeviceHealths> device_healths() const;
  Duration grace() const;
  void write_status();
  void set_deadline();
  void event(EventType type, std::string_view reason, const std::string& message) {
    place.events->record(object(), type, reason, message);
  }
  // Runs `next` on the answer while this lives, then looks again.
  template <class F> auto then(F next) {
    return [weak = weak_from_this(), next = std::move(next)](auto&& answer) {
      if (const auto state = weak.lock()) {
        state->busy = false;
        next(*state, std::forward<decltype(answer)>(answer));
        state->kick();
      }
    };
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
  see_terminal();
  kick();
}

// A pod that the API calls ended never becomes anything else.
void PodWorker::State::see_terminal() {
  if (pod->terminal() && !verdict) {
    verdict = Verdict{pod->status.phase, {pod->status.reason, pod->status.message}};
  }
}

void PodWorker::State::sync() {
  if (busy || removed) {
    return;
  }
  wake.cancel();
  if (ending()) {
    stop(view());
  } else if (admitted) {
    run(view());
  }
  write_status();
  if (finished && object_gone && !busy) {
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
  show_backoff(now_is);
  if (now_is.init_phase_over() && !init_surplus_released) {
    init_surplus_released = true;
    place.devices->release_init_surplus(*pod);
  }
  const PodAction action = next_action(now_is, held, now());
  switch (action.kind) {
  case PodAction::Kind::Nothing:
    if (action.not_before && *action.not_before != TimePoint::max()) {
      wake.set(*action.not_before - now(), [this] { kick(); });
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
    verdict = Verdict{
        "Failed",
        {"DeadlineExceeded", "Pod was active on the node longer than the specified deadline"}};
    event(EventType::Normal, "DeadlineExceeded", verdict->why.message);
  } else if (!deadline.armed()) {
    deadline.set(at - now(), [this] { kick(); });
  }
}

Duration PodWorker::State::grace() const {
  const auto& meta = object().meta();
  const std::int64_t own =
      pod->spec.termination_grace_period_seconds.value_or(kDefaultGraceSeconds);
  const std::int64_t seconds = meta.deletion_grace_period_seconds.value_or(own);
  return Duration::seconds(std::max<std::int64_t>(seconds, 1));
}

void PodWorker::State::stop(const PodView& now_is) {
  device_wait.cancel();
  deadline.cancel();
  const auto stops = next_stops(now_is);
  for (const std::size_t index : stops) {
    const ContainerView& each = now_is.containers[index];
    // A sidecar of a pod that ended by itself has its own time; one of a deleted pod what is left.
    const Duration limit = each.role == Role::Sidecar ? std::min(grace(), kSidecarGrace) : grace();
    const TimePoint kill_at = now() + limit;
    const auto [asked, first] = stop_deadlines.emplace(each.current->id, kill_at);
    if (!first && asked->second <= kill_at) {
      continue;
    }
    asked->second = kill_at;
    if (first) {
      event(EventType::Normal, "Killing", fmt::format("Stopping container {}", each.spec->name));
    }
    // Its end is an event; should that be missed, the answer says that it is time to look.
    place.runtime->stop_container(
        each.current->id, limit,
        [weak = weak_from_this(), id = each.current->id](const Result<void>&) {
          if (const auto state = weak.lock()) {
            state->look_at(id);
          }
        });
  }
  if (!stops.empty()) {
    return;
  }
  if (now_is.sandbox_ready()) {
    busy = true;
    place.runtime->stop_pod_sandbox(
        now_is.sandbox->id, then([id = now_is.sandbox->id](State& state, const Result<void>&) {
          state.record.sandboxes[id].state = runtime::SandboxState::NotReady;
        }));
    return;
  }
  finish(now_is);
}

void PodWorker::State::look_at(const std::string& container) {
  place.runtime->container_status(
      container, [weak = weak_from_this()](const Result<runtime::ContainerStatus>& now_is) {
        const auto state = weak.lock();
        if (state && now_is) {
          apply_event(state->record, {runtime::ContainerEvent::Type::Stopped, *now_is});
          state->kick();
        }
      });
}

void PodWorker::State::finish(const PodView& now_is) {
  if (finished) {
    return;
  }
  finished = true;
  place.devices->release(pod->meta.uid);
  if (!verdict) {
    const bool succeeded = std::ranges::all_of(now_is.containers, [](const ContainerView& each) {
      return each.role == Role::Sidecar || each.succeeded();
    });
    verdict = Verdict{succeeded ? "Succeeded" : "Failed", {}};
  }
  place.on_release();
}

// The object is gone: so is, after this, everything of it here.
void PodWorker::State::clean_up() {
  if (record.sandboxes.empty()) {
    removed = true;
    place.on_release();
    return;
  }
  busy = true;
  const std::string id = record.sandboxes.begin()->first;
  place.runtime->remove_pod_sandbox(
      id, then([id](State& state, const Result<void>&) { state.record.sandboxes.erase(id); }));
}

void PodWorker::State::create_sandbox(const PodView& now_is) {
  if (const auto hold = held.find(""); hold != held.end() && hold->second > now()) {
    wake.set(hold->second - now(), [this] { kick(); });
    return;
  }
  busy = true;
  const std::uint32_t attempt = now_is.sandbox ? now_is.sandbox->attempt + 1 : 0;
  place.runtime->run_pod_sandbox(
      make_sandbox_config(*pod, attempt),
      then([](State& state, Result<runtime::SandboxStatus> made) {
        if (made) {
          state.failures.erase("");
          const std::string id = made->id;
          state.record.sandboxes[id] = *std::move(made);
          state.init_surplus_released = false;
          return;
        }
        if (made.error().code == Code::AlreadyExists) {
          state.held[""] = state.now() + kUnderWay;
        } else {
          state.event(EventType::Warning, "FailedCreatePodSandBox",
                      fmt::format("Failed to create pod sandbox: {}", made.error().message));
          state.hold_for_retry("");
        }
        state.relist();
      }));
}

// What the runtime does not do as asked may have been asked before, by an agent that is gone: look
// what is there.
void PodWorker::State::relist() {
  busy = true;
  place.runtime->list(then([](State& state, Result<runtime::Listing> listing) {
    if (!listing) {
      return;
    }
    state.record = {};
    for (runtime::SandboxStatus& sandbox : listing->sandboxes) {
      if (sandbox.uid == state.pod->meta.uid) {
        state.record.sandboxes.emplace(sandbox.id, std::move(sandbox));
      }
    }
    for (runtime::ContainerStatus& container : listing->containers) {
      if (container.pod_uid == state.pod->meta.uid) {
        state.record.containers.emplace(container.id, std::move(container));
      }
    }
  }));
}

void PodWorker::State::hold_for_retry(const std::string& name) {
  const int times = std::min(failures[name]++, 5);
  held[name] = now() + std::min(kFirstRetry * (std::int64_t{1} << times), kLastRetry);
}

void PodWorker::State::start(const PodView& now_is, const PodAction& action) {
  const ContainerView& each = now_is.containers[action.container];
  const bool created = each.current && each.current->state == runtime::ContainerState::Created;
  StartOrder order{.object = object(),
                   .pod = pod,
                   .container = each.spec,
                   .role = each.role,
                   .attempt = each.next_attempt,
                   .restart_delay = action.delay,
                   .sandbox_id = now_is.sandbox->id,
                   .created_id = created ? each.current->id : "",
                   .pod_ip = now_is.sandbox->ip.empty() ? place.host_ip : now_is.sandbox->ip,
                   .host_ip = place.host_ip,
                   .gpu_machine = place.gpu_machine,
                   .scope = now_is.init_phase_over() ? AllocationScope::Running
                                                     : AllocationScope::Whole};
  busy = true;
  start_container(
      *place.devices, *place.runtime, weak_from_this(), std::move(order),
      then([name = each.spec->name, role = each.role](State& state, const StartResult& result) {
        state.started(name, role, result);
      }));
}

void PodWorker::State::started(const std::string& name, Role role, const StartResult& result) {
  switch (result.kind) {
  case StartResult::Kind::Started: {
    const auto [it, added] = record.containers.emplace(result.status.id, result.status);
    if (!added && it->second.state <= result.status.state) {
      it->second = result.status;
    }
    held.erase(name);
    waiting.erase(name);
    failures.erase(name);
    device_wait.cancel();
    event(EventType::Normal, "Started", fmt::format("Started container {}", name));
    drop_old_attempts(name);
    return;
  }
  case StartResult::Kind::DevicesWait:
    held[name] = TimePoint::max();
    hold_for_devices(result.why.message);
    waiting[name] = {role == Role::App ? "ContainerCreating" : "PodInitializing",
                     "waiting for devices: " + result.why.message};
    return;
  case StartResult::Kind::DevicesRejected:
    if (!verdict) {
      verdict = allocation_failure(result.why.message);
      event(EventType::Warning, verdict->why.reason, verdict->why.message);
    }
    return;
  case StartResult::Kind::UnderWay:
    held[name] = now() + kUnderWay;
    relist();
    return;
  case StartResult::Kind::Failed:
    start_failed(name, result.why);
    relist();
    return;
  }
}

void PodWorker::State::start_failed(const std::string& name, const Reason& why) {
  hold_for_retry(name);
  if (waiting[name] != why) {
    event(EventType::Warning, "Failed", fmt::format("Error: {}", why.message));
  }
  waiting[name] = why;
}

// The runtime keeps the attempt that counts and the one before.
void PodWorker::State::drop_old_attempts(const std::string& name) {
  std::vector<std::pair<std::uint32_t, std::string>> attempts;
  for (const auto& [id, status] : record.containers) {
    if (status.name == name) {
      attempts.emplace_back(status.attempt, id);
    }
  }
  std::ranges::sort(attempts, std::greater<>());
  for (std::size_t i = 2; i < attempts.size(); ++i) {
    place.runtime->remove_container(attempts[i].second, [](const Result<void>&) {});
    record.containers.erase(attempts[i].second);
  }
}

// Devices that are to come are waited for, but not for ever.
void PodWorker::State::hold_for_devices(const std::string& message) {
  if (device_message != message) {
    event(EventType::Warning, "WaitingForDevices", fmt::format("waiting for devices: {}", message));
  }
  device_message = message;
  if (!device_wait.armed()) {
    device_wait.set(place.device_wait, [this] {
      if (!verdict) {
        verdict = allocation_failure(device_message);
        if (!admitted) {
          verdict->why.message = "Pod was rejected: " + verdict->why.message;
        }
        event(EventType::Warning, verdict->why.reason,
              allocation_failure(device_message).why.message);
        kick();
      }
    });
  }
}

void PodWorker::State::show_backoff(const PodView& now_is) {
  for (const ContainerView& each : now_is.containers) {
    const auto until = backing_off_until(each, pod->spec.restart_policy, now());
    const auto shown = waiting.find(each.spec->name);
    if (!until) {
      if (shown != waiting.end() && shown->second.reason == "CrashLoopBackOff") {
        waiting.erase(shown);
      }
      continue;
    }
    const std::string delay = berth::to_string(restart_delay(*each.current));
    waiting[each.spec->name] = {"CrashLoopBackOff",
                                fmt::format("back-off {} restarting failed container={} pod={}",
                                            delay, each.spec->name, pod_text(*pod))};
    if (announced_backoff.insert(each.current->id).second) {
      event(EventType::Warning, "BackOff",
            fmt::format("Back-off restarting failed container {} in pod {}", each.spec->name,
                        pod_text(*pod)));
    }
  }
}

std::map<std::string, DeviceHealths> PodWorker::State::device_healths() const {
  std::map<std::string, DeviceHealths> healths;
  for (const Holding* holding : place.devices->ledger().of_pod(pod->meta.uid)) {
    auto& devices = healths[holding->container][holding->resource];
    for (const std::string& id : holding->ids()) {
      devices.emplace_back(id, place.devices->health(holding->resource, id));
    }
  }
  return healths;
}

// The pod goes on with a sick device, as the kubelet has it; its user is told.
void PodWorker::State::watch_devices() {
  for (const auto& [container, resources] : device_healths()) {
    for (const auto& [resource, devices] : resources) {
      for (const auto& [id, health] : devices) {
        if (health == DeviceHealth::Unhealthy && sick_devices.insert(id).second) {
          event(EventType::Warning, "DeviceUnhealthy",
                fmt::format("device {} {} of container {} is unhealthy", resource, id, container));
        } else if (health == DeviceHealth::Healthy && sick_devices.erase(id) > 0) {
          event(EventType::Normal, "DeviceHealthy",
                fmt::format("device {} {} of container {} is healthy again", resource, id,
                            container));
        }
      }
    }
  }
}

void PodWorker::State::write_status() {
  if (object_gone) {
    return;
  }
  StatusFacts facts{.start_time = start_time,
                    .host_ip = place.host_ip,
                    .waiting = waiting,
                    .devices = device_healths(),
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
  state.see_terminal();
  state.kick();
}

PodWorker::~PodWorker() {
  state_->wake.cancel();
  state_->deadline.cancel();
  state_->device_wait.cancel();
}

void PodWorker::restore(PodRecord record) {
  state_->admitted = true;
  state_->record = std::move(record);
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
  apply_event(state_->record, event);
  state_->kick();
}

void PodWorker::devices_changed() {
  const auto waits =
      std::erase_if(state_->held, [](const auto& each) { return each.second == TimePoint::max(); });
  state_->watch_devices();
  if (waits > 0 || !state_->place.devices->ledger().of_pod(state_->pod->meta.uid).empty()) {
    state_->kick();
  }
}

void PodWorker::admit() {
  state_->admitted = true;
  state_->waiting.clear();
  state_->device_message.clear();
  state_->device_wait.cancel();
  state_->kick();
}

void PodWorker::reject(std::string reason, std::string message) {
  if (state_->ending()) {
    return;
  }
  state_->event(EventType::Warning, reason, message);
  state_->verdict = Verdict{"Failed", {std::move(reason), "Pod was rejected: " + message}};
  state_->kick();
}

void PodWorker::wait(std::string message) {
  if (state_->ending()) {
    return;
  }
  for (const model::Container& container : state_->pod->spec.containers) {
    state_->waiting[container.name] = {"ContainerCreating", "waiting for devices: " + message};
  }
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
  if (state.busy || state.sync_posted || state.device_wait.armed() ||
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
  const std::string_view what = state.removed        ? "removed"
                                : state.finished     ? "finished"
                                : state.ending()     ? "stopping"
                                : !state.admitted    ? "waiting for admission"
                                : state.busy         ? "asking the runtime"
                                : state.wake.armed() ? "backing off"
                                                     : "running";
  return fmt::format("{}: {}{}", state.pod->key().to_string(), what,
                     state.device_wait.armed() ? ", waiting for devices" : "");
}

} // namespace berth::node
