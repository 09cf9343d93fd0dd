#include "berth/runtime/simulated_runtime.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "berth/base/assert.h"
#include "berth/base/rng.h"
#include "berth/runtime/oci.h"
#include "berth/runtime/pod_addresses.h"
#include "berth/runtime/steering.h"

namespace berth::runtime {
namespace {

constexpr int kKilled = 137;     // 128 + SIGKILL
constexpr int kTerminated = 143; // 128 + SIGTERM
constexpr int kLostWithMachine = 255;

struct Container {
  ContainerStatus status;
  ContainerConfig config;
  std::string hostname;
  cdi::Registry cdi; ///< as it was when the container was made
  Steering steering;
  TimerId end_timer = 0;
  TimePoint ends_at = TimePoint::max();
  std::optional<TimePoint> killed_at; ///< SIGTERM was sent; SIGKILL follows then
  std::optional<AskedToStop> asked_to_stop;
  std::vector<Done<void>> stop_waiters;
};

struct Sandbox {
  SandboxStatus status;
  SandboxConfig config;
};

std::string sandbox_key(std::string_view name, std::string_view ns, std::string_view uid,
                        std::uint32_t attempt) {
  return fmt::format("{}_{}_{}_{}", name, ns, uid, attempt);
}

std::string container_key(std::string_view name, std::string_view sandbox_id,
                          std::uint32_t attempt) {
  return fmt::format("{}_{}_{}", name, sandbox_id, attempt);
}

} // namespace

struct SimulatedRuntime::State : std::enable_shared_from_this<State> {
  Loop* loop;
  const cdi::Registry* cdi;
  SimulatedRuntimeOptions options;
  Rng rng;
  PodAddresses addresses;
  std::uint64_t boot = 1;
  bool powered = true;
  std::uint64_t next_serial = 1;
  std::map<std::uint64_t, Sandbox> sandboxes;    // by creation
  std::map<std::uint64_t, Container> containers; // by creation
  std::map<std::string, std::uint64_t, std::less<>> serial_by_id;
  /// Names of sandboxes and containers that exist or are being made, as containerd reserves them:
  /// what a dead agent asked for is not made twice.
  std::set<std::string> reserved;
  std::uint64_t next_subscriber = 1;
  std::map<std::uint64_t, std::function<void(const ContainerEvent&)>> subscribers;
  struct Follower {
    std::string container;
    std::function<void()> on_more;
  };
  std::map<std::uint64_t, Follower> followers; ///< numbered with the subscribers

  State(Loop& on, const cdi::Registry& registry, SimulatedRuntimeOptions with)
      : loop(&on), cdi(&registry), options(std::move(with)), rng(seed_of(options.machine)),
        addresses(options.machine) {
    if (!options.stat_device) {
      options.stat_device = nvidia_device_number;
    }
  }

  std::string new_id() {
    return fmt::format("{:016x}{:016x}{:016x}{:016x}", rng.next(), rng.next(), rng.next(),
                       rng.next());
  }

  template <class M> auto* find(M& map, std::string_view id) {
    const auto serial = serial_by_id.find(id);
    const auto it = serial == serial_by_id.end() ? map.end() : map.find(serial->second);
    return it == map.end() ? nullptr : &it->second;
  }
  Container* container(std::string_view id) { return find(containers, id); }
  Sandbox* sandbox(std::string_view id) { return find(sandboxes, id); }

  // Runs the step after `takes`, unless the machine lost power meanwhile: then nobody is left to
  // answer.
  template <class F> void later(Duration takes, F step) {
    loop->after(takes, [weak = weak_from_this(), during = boot, step = std::move(step)]() mutable {
      const auto state = weak.lock();
      if (state && state->powered && state->boot == during) {
        step(*state);
      }
    });
  }

  // Calls done(answer) by a later task.
  template <class T> void answer(Done<T> done, Result<T> result) {
    loop->post([done = std::move(done), result = std::move(result)] { done(result); });
  }

  void emit(ContainerEvent::Type type, const ContainerStatus& status) {
    for (const auto& entry : subscribers) {
      loop->post([weak = weak_from_this(), id = entry.first, event = ContainerEvent{type, status}] {
        const auto state = weak.lock();
        if (state && state->subscribers.contains(id)) {
          const auto on_event = state->subscribers.at(id);
          on_event(event);
        }
      });
    }
  }

  // The container has printed something, or will print no more.
  void printed(std::string_view id) {
    for (const auto& [key, follower] : followers) {
      if (follower.container == id) {
        loop->post([weak = weak_from_this(), number = key] {
          const auto state = weak.lock();
          if (state && state->followers.contains(number)) {
            const auto on_more = state->followers.at(number).on_more;
            on_more();
          }
        });
      }
    }
  }

  std::uint64_t changes = 0;

  // Without power nobody is there to reserve anything, or to answer.
  Result<void> reserve(const std::string& key) {
    if (!powered) {
      return {};
    }
    if (!reserved.insert(key).second) {
      return fail(Code::AlreadyExists,
                  fmt::format("failed to reserve name \"{}\": it is reserved", key));
    }
    return {};
  }

  /// What the container's OCI spec says, which is made when somebody asks: few do.
  ContainerFacts facts(const Container& of) const {
    const auto spec = make_oci_spec(of.config, of.hostname, of.cdi, options.stat_device);
    BERTH_ASSERT(spec.has_value(), "checked when the container was made");
    return facts_of(*spec, of.config);
  }

  Result<SandboxStatus> add_sandbox(SandboxConfig config);
  Result<std::string> add_container(const std::string& sandbox_id, ContainerConfig config);
  Result<void> start(const std::string& id);
  void schedule_end(Container& container, TimePoint at, int exit_code);
  void end(Container& container, int exit_code, std::string reason);
  void stop(Container& container, Duration grace, Done<void> done);
  void stop_sandbox(Sandbox& sandbox);
  void remove(std::string id);
  std::vector<std::string> containers_in(const std::string& sandbox_id) const;
};

Result<SandboxStatus> SimulatedRuntime::State::add_sandbox(SandboxConfig config) {
  const std::uint64_t serial = next_serial++;
  Sandbox added{.config = std::move(config)};
  SandboxStatus& status = added.status;
  status.id = new_id();
  status.name = added.config.name;
  status.ns = added.config.ns;
  status.uid = added.config.uid;
  status.attempt = added.config.attempt;
  status.created_at = loop->now();
  status.labels = added.config.labels;
  status.annotations = added.config.annotations;
  if (!added.config.host_network) {
    status.ip = addresses.take();
  }
  serial_by_id.emplace(status.id, serial);
  return sandboxes.emplace(serial, std::move(added)).first->second.status;
}

Result<std::string> SimulatedRuntime::State::add_container(const std::string& sandbox_id,
                                                           ContainerConfig config) {
  const Sandbox* in = sandbox(sandbox_id);
  if (!in) {
    return fail(Code::NotFound, fmt::format("failed to find sandbox id \"{}\"", sandbox_id));
  }
  if (in->status.state != SandboxState::Ready) {
    return fail(Code::Unavailable,
                fmt::format("sandbox container \"{}\" is not running", sandbox_id));
  }
  BERTH_CHECK(check_oci_spec(config, *cdi, options.stat_device));
  Container added;
  added.hostname = in->config.name;
  added.cdi = *cdi;
  added.config = std::move(config);
  const auto role = added.config.annotations.find(kContainerRoleAnnotation);
  added.steering = steering_of(
      in->config.annotations,
      {.container = added.config.name,
       .role = role == added.config.annotations.end() ? std::string_view() : role->second,
       .number = added.config.attempt},
      {options.default_run_for, options.init_runs_for, options.stop_takes});
  ContainerStatus& status = added.status;
  status.id = new_id();
  status.sandbox_id = sandbox_id;
  status.pod_uid = in->config.uid;
  status.name = added.config.name;
  status.attempt = added.config.attempt;
  status.created_at = loop->now();
  status.image = added.config.image;
  status.image_id = fmt::format("simulated://{}", added.config.image);
  status.labels = added.config.labels;
  status.annotations = added.config.annotations;
  const std::uint64_t serial = next_serial++;
  serial_by_id.emplace(status.id, serial);
  const ContainerStatus& kept = containers.emplace(serial, std::move(added)).first->second.status;
  emit(ContainerEvent::Type::Created, kept);
  return kept.id;
}

Result<void> SimulatedRuntime::State::start(const std::string& id) {
  Container* starting = container(id);
  if (!starting) {
    return fail(Code::NotFound, fmt::format("failed to find container \"{}\"", id));
  }
  if (starting->status.state != ContainerState::Created) {
    return fail(Code::Conflict, fmt::format("container \"{}\" is not in created state", id));
  }
  const std::string& in = starting->status.sandbox_id;
  if (const Sandbox* around = sandbox(in); !around || around->status.state != SandboxState::Ready) {
    return fail(Code::Unavailable, fmt::format("sandbox container \"{}\" is not running", in));
  }
  starting->status.state = ContainerState::Running;
  ++changes;
  starting->status.started_at = loop->now();
  if (starting->steering.run_for != Duration::max()) {
    schedule_end(*starting, loop->now() + starting->steering.run_for, starting->steering.exit_code);
  }
  emit(ContainerEvent::Type::Started, starting->status);
  printed(id);
  return {};
}

void SimulatedRuntime::State::schedule_end(Container& of, TimePoint at, int exit_code) {
  loop->cancel(of.end_timer);
  of.ends_at = at;
  of.end_timer =
      loop->after(at - loop->now(), [weak = weak_from_this(), id = of.status.id, exit_code] {
        const auto state = weak.lock();
        if (Container* ending = state ? state->container(id) : nullptr) {
          ending->end_timer = 0;
          state->end(*ending, exit_code, exit_code == 0 ? "Completed" : "Error");
        }
      });
}

void SimulatedRuntime::State::end(Container& of, int exit_code, std::string reason) {
  loop->cancel(of.end_timer);
  of.end_timer = 0;
  of.ends_at = TimePoint::max();
  of.status.state = ContainerState::Exited;
  ++changes;
  of.status.finished_at = loop->now();
  of.status.exit_code = exit_code;
  of.status.reason = std::move(reason);
  for (Done<void>& waiter : of.stop_waiters) {
    answer<void>(std::move(waiter), {});
  }
  of.stop_waiters.clear();
  printed(of.status.id);
  if (powered) {
    emit(ContainerEvent::Type::Stopped, of.status);
  }
}

void SimulatedRuntime::State::stop(Container& of, Duration grace, Done<void> done) {
  if (of.status.state != ContainerState::Running) {
    answer<void>(std::move(done), {});
    return;
  }
  of.stop_waiters.push_back(std::move(done));
  const TimePoint now = loop->now();
  const TimePoint kill_at = now + std::max(grace, Duration());
  if (of.killed_at && *of.killed_at <= kill_at) {
    return;
  }
  const bool first = !of.killed_at;
  of.killed_at = kill_at;
  if (first) {
    of.asked_to_stop = AskedToStop{.at = now, .grace = grace};
    printed(of.status.id);
  }
  // A container that was going to end before either signal does, ends as it would have.
  const Duration takes = of.steering.stop_takes;
  if (first && takes <= grace && grace > Duration() && now + takes < of.ends_at) {
    schedule_end(of, now + takes, kTerminated);
  } else if (kill_at < of.ends_at) {
    schedule_end(of, kill_at, kKilled);
  }
}

std::vector<std::string>
SimulatedRuntime::State::containers_in(const std::string& sandbox_id) const {
  std::vector<std::string> ids;
  for (const auto& [serial, each] : containers) {
    if (each.status.sandbox_id == sandbox_id) {
      ids.push_back(each.status.id);
    }
  }
  return ids;
}

void SimulatedRuntime::State::stop_sandbox(Sandbox& of) {
  for (const std::string& id : containers_in(of.status.id)) {
    if (Container* each = container(id); each->status.state == ContainerState::Running) {
      end(*each, kKilled, "Error");
    }
  }
  if (of.status.state == SandboxState::Ready) {
    of.status.state = SandboxState::NotReady;
    addresses.give_back(of.status.ip);
  }
}

void SimulatedRuntime::State::remove(std::string id) {
  Container* each = container(id);
  if (!each) {
    return;
  }
  if (each->status.state == ContainerState::Running) {
    end(*each, kKilled, "Error");
  }
  emit(ContainerEvent::Type::Deleted, each->status);
  printed(id);
  reserved.erase(container_key(each->status.name, each->status.sandbox_id, each->status.attempt));
  containers.erase(serial_by_id.find(id)->second);
  serial_by_id.erase(id);
}

SimulatedRuntime::SimulatedRuntime(Loop& loop, const cdi::Registry& cdi,
                                   SimulatedRuntimeOptions options)
    : state_(std::make_shared<State>(loop, cdi, std::move(options))) {}

SimulatedRuntime::~SimulatedRuntime() {
  for (auto& [serial, container] : state_->containers) {
    state_->loop->cancel(container.end_timer);
  }
}

std::string SimulatedRuntime::boot_id() const {
  return fmt::format("{}-boot-{}", state_->options.machine, state_->boot);
}

void SimulatedRuntime::run_pod_sandbox(SandboxConfig config, Done<SandboxStatus> done) {
  const std::string key = sandbox_key(config.name, config.ns, config.uid, config.attempt);
  if (const auto reserved = state_->reserve(key); !reserved) {
    state_->answer<SandboxStatus>(std::move(done), tl::unexpected(reserved.error()));
    return;
  }
  state_->later(state_->options.sandbox_takes,
                [config = std::move(config), done = std::move(done)](State& state) mutable {
                  done(state.add_sandbox(std::move(config)));
                });
}

void SimulatedRuntime::stop_pod_sandbox(const std::string& id, Done<void> done) {
  state_->later(Duration(), [id, done = std::move(done)](State& state) {
    if (Sandbox* sandbox = state.sandbox(id)) {
      state.stop_sandbox(*sandbox);
    }
    done({});
  });
}

void SimulatedRuntime::remove_pod_sandbox(const std::string& id, Done<void> done) {
  state_->later(Duration(), [id, done = std::move(done)](State& state) {
    if (Sandbox* sandbox = state.sandbox(id)) {
      state.stop_sandbox(*sandbox);
      for (const std::string& container : state.containers_in(id)) {
        state.remove(container);
      }
      const SandboxStatus& gone = sandbox->status;
      state.reserved.erase(sandbox_key(gone.name, gone.ns, gone.uid, gone.attempt));
      state.sandboxes.erase(state.serial_by_id.find(id)->second);
      state.serial_by_id.erase(id);
    }
    done({});
  });
}

void SimulatedRuntime::create_container(const std::string& sandbox_id, ContainerConfig config,
                                        Done<std::string> done) {
  const std::string key = container_key(config.name, sandbox_id, config.attempt);
  if (const auto reserved = state_->reserve(key); !reserved) {
    state_->answer<std::string>(std::move(done), tl::unexpected(reserved.error()));
    return;
  }
  state_->later(state_->options.create_takes, [sandbox_id, key, config = std::move(config),
                                               done = std::move(done)](State& state) mutable {
    auto made = state.add_container(sandbox_id, std::move(config));
    if (!made) {
      state.reserved.erase(key);
    }
    done(std::move(made));
  });
}

void SimulatedRuntime::start_container(const std::string& id, Done<void> done) {
  state_->later(state_->options.start_takes,
                [id, done = std::move(done)](State& state) { done(state.start(id)); });
}

void SimulatedRuntime::stop_container(const std::string& id, Duration grace, Done<void> done) {
  state_->later(Duration(), [id, grace, done = std::move(done)](State& state) mutable {
    if (Container* container = state.container(id)) {
      state.stop(*container, grace, std::move(done));
    } else {
      done({});
    }
  });
}

void SimulatedRuntime::remove_container(const std::string& id, Done<void> done) {
  state_->later(Duration(), [id, done = std::move(done)](State& state) {
    state.remove(id);
    done({});
  });
}

void SimulatedRuntime::set_cpus(const std::string& id, const std::string& cpus, Done<void> done) {
  state_->later(Duration(), [id, cpus, done = std::move(done)](State& state) {
    Container* container = state.container(id);
    if (!container) {
      done(fail(Code::NotFound, fmt::format("failed to find container \"{}\"", id)));
    } else if (container->status.state == ContainerState::Exited) {
      done(fail(Code::Conflict, fmt::format("container \"{}\" has ended", id)));
    } else {
      container->config.cpuset_cpus = cpus;
      done({});
    }
  });
}

void SimulatedRuntime::list(Done<Listing> done) {
  state_->later(Duration(), [done = std::move(done)](State& state) {
    Listing listing;
    for (const auto& [serial, sandbox] : state.sandboxes) {
      listing.sandboxes.push_back(sandbox.status);
    }
    for (const auto& [serial, container] : state.containers) {
      listing.containers.push_back(container.status);
    }
    done(std::move(listing));
  });
}

void SimulatedRuntime::container_status(const std::string& id, Done<ContainerStatus> done) {
  state_->later(Duration(), [id, done = std::move(done)](State& state) {
    const Container* container = state.container(id);
    if (!container) {
      done(fail(Code::NotFound, fmt::format("failed to find container \"{}\"", id)));
      return;
    }
    done(container->status);
  });
}

/// Who listens to the runtime, or to one container.
class SimulatedRuntime::Listener final : public EventStream {
 public:
  Listener(std::weak_ptr<State> state, std::uint64_t id) : state_(std::move(state)), id_(id) {}
  ~Listener() override {
    if (const auto state = state_.lock()) {
      state->subscribers.erase(id_);
      state->followers.erase(id_);
    }
  }

 private:
  std::weak_ptr<State> state_;
  std::uint64_t id_;
};

std::unique_ptr<EventStream>
SimulatedRuntime::events(std::function<void(const ContainerEvent&)> on_event) {
  const std::uint64_t id = state_->next_subscriber++;
  state_->subscribers.emplace(id, std::move(on_event));
  return std::make_unique<Listener>(state_, id);
}

std::unique_ptr<EventStream> SimulatedRuntime::follow(std::string_view container_id,
                                                      std::function<void()> on_more) {
  const std::uint64_t id = state_->next_subscriber++;
  state_->followers.emplace(
      id, State::Follower{.container = std::string(container_id), .on_more = std::move(on_more)});
  return std::make_unique<Listener>(state_, id);
}

bool SimulatedRuntime::runs(std::string_view container_id) const {
  const Container* container = state_->container(container_id);
  return container != nullptr && container->status.state == ContainerState::Running;
}

std::optional<std::vector<LogLine>> SimulatedRuntime::log(std::string_view container_id) const {
  const Container* container = state_->container(container_id);
  if (container == nullptr) {
    return std::nullopt;
  }
  return log_of({.status = container->status,
                 .config = container->config,
                 .facts = state_->facts(*container),
                 .run_for = container->steering.run_for,
                 .asked_to_stop = container->asked_to_stop});
}

void SimulatedRuntime::power_off() {
  state_->powered = false;
  for (auto& [serial, container] : state_->containers) {
    container.stop_waiters.clear();
    if (container.status.state != ContainerState::Exited) {
      state_->end(container, kLostWithMachine, "Unknown");
    }
  }
  // What was being made when the power went is not there afterwards.
  state_->reserved.clear();
  for (const auto& [serial, container] : state_->containers) {
    const ContainerStatus& status = container.status;
    state_->reserved.insert(container_key(status.name, status.sandbox_id, status.attempt));
  }
  for (auto& [serial, sandbox] : state_->sandboxes) {
    state_->stop_sandbox(sandbox);
    const SandboxStatus& status = sandbox.status;
    state_->reserved.insert(sandbox_key(status.name, status.ns, status.uid, status.attempt));
  }
}

void SimulatedRuntime::power_on() {
  if (!state_->powered) {
    state_->powered = true;
    ++state_->boot;
  }
}

std::vector<ContainerFacts> SimulatedRuntime::facts(std::string_view pod_uid) const {
  std::vector<ContainerFacts> facts;
  for (const auto& [serial, container] : state_->containers) {
    if (container.status.pod_uid != pod_uid) {
      continue;
    }
    ContainerFacts fact = state_->facts(container);
    const auto earlier = std::ranges::find(facts, fact.container, &ContainerFacts::container);
    if (earlier == facts.end()) {
      facts.push_back(std::move(fact));
    } else {
      *earlier = std::move(fact);
    }
  }
  return facts;
}

std::vector<ContainerStatus> SimulatedRuntime::running() const {
  std::vector<ContainerStatus> running;
  for (const auto& [serial, container] : state_->containers) {
    if (container.status.state == ContainerState::Running) {
      running.push_back(container.status);
    }
  }
  return running;
}

std::uint64_t SimulatedRuntime::changes() const {
  return state_->changes;
}

TimePoint SimulatedRuntime::next_end() const {
  TimePoint next = TimePoint::max();
  for (const auto& [serial, container] : state_->containers) {
    next = std::min(next, container.ends_at);
  }
  return next;
}

std::set<std::string> SimulatedRuntime::pods_with_an_end() const {
  std::set<std::string> uids;
  for (const auto& [serial, container] : state_->containers) {
    if (container.ends_at != TimePoint::max()) {
      uids.insert(container.status.pod_uid);
    }
  }
  return uids;
}

} // namespace berth::runtime
