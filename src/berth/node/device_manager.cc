#include "berth/node/device_manager.h"

#include <algorithm>
#include <deque>
#include <utility>

#include <fmt/format.h>

#include "berth/base/log.h"
#include "berth/hardware/choose.h"
#include "berth/node/checkpoint.h"
#include "berth/node/device_picker.h"
#include "berth/node/device_request.h"
#include "berth/node/plugin_endpoints.h"

namespace berth::node {

namespace {

constexpr std::string_view kLog = "device-manager";
constexpr Duration kSaveAgain = Duration::seconds(10);
using deviceplugin::ContainerAllocateResponse;

std::string pod_text(const model::Pod& pod) {
  return fmt::format("{}_{}({})", pod.meta.name, pod.meta.ns, pod.meta.uid);
}

// One pod's way through allocation.
struct Allocation {
  std::shared_ptr<const model::Pod> pod;
  std::vector<DeviceRequest> requests;
  std::size_t next = 0;
  DeviceManager::Done done;
  bool cancelled = false;
  std::map<std::string, std::set<std::string>>
      reusable; ///< resource to ids that init containers left
  std::vector<std::pair<std::string, std::string>>
      granted; ///< container, resource: new in this attempt
};

} // namespace

struct DeviceManager::State : std::enable_shared_from_this<State> {
  Loop* loop;
  CheckpointStore* store;
  DeviceManagerOptions options;
  DeviceLedger ledger;
  PluginEndpoints endpoints;
  TimePoint started_at;
  std::set<std::string, std::less<>> unproven;   ///< pods whose devices are from before a reboot
  std::deque<std::shared_ptr<Allocation>> queue; ///< the front one is being served
  bool serving = false;
  bool change_posted = false;
  Timer save_again; ///< what the disk did not take is not left out of date until the next change

  State(Loop& on, CheckpointStore& disk, DeviceManagerOptions with)
      : loop(&on), store(&disk), options(std::move(with)),
        endpoints(on, options.endpoint_stop_grace, [this] { changed(); }), started_at(on.now()),
        save_again(on) {}

  void restore();
  void save();
  void changed();

  void serve();
  void step(const std::shared_ptr<Allocation>& allocation);
  void ask(const std::shared_ptr<Allocation>& allocation, const DeviceRequest& request,
           const PickPlan& plan);
  void fetch(const std::shared_ptr<Allocation>& allocation, const DeviceRequest& request,
             std::vector<std::string> ids);
  void grant(const std::shared_ptr<Allocation>& allocation, const DeviceRequest& request,
             const std::vector<std::string>& ids, ContainerAllocateResponse response);
  void pass_on(Allocation& allocation, const DeviceRequest& request);
  void finish(const std::shared_ptr<Allocation>& allocation, AllocationVerdict verdict);

  std::vector<DeviceRequest> requests_of(const model::Pod& asking) const {
    return device_requests(asking.spec, [&](std::string_view resource) {
      return endpoints.knows(resource) || options.needs_plugin(resource);
    });
  }
  PickRequest pick_request(const Allocation& allocation, const DeviceRequest& request) const;
  std::optional<std::vector<std::string>> chosen_gpus(const model::Pod& pod) const;
  AllocationVerdict verdict_of(const Error& error, const PickRequest& request) const;
  bool may_come_back(std::string_view resource) const;
  bool collect_gone();
  void take_from_others(const Holding& used);
  AllocationVerdict check_prepared(const model::Pod& pod, const std::string& container) const;
  void refill(const std::shared_ptr<const model::Pod>& pod, const std::string& container,
              DeviceManager::Done done);

  // Calls the plugin; the answer, or Unavailable after the timeout, comes once and only while this
  // lives.
  template <class T, class Call> void call(Call start, deviceplugin::Done<T> done) {
    struct Answer {
      deviceplugin::Done<T> done;
      TimerId timer = 0;
    };
    auto answer = std::make_shared<Answer>(Answer{std::move(done)});
    const auto deliver = [weak = weak_from_this(), answer](Result<T> result) {
      const auto state = weak.lock();
      if (state && answer->done) {
        state->loop->cancel(answer->timer);
        const auto now = std::exchange(answer->done, nullptr);
        now(std::move(result));
      }
    };
    answer->timer = loop->after(options.rpc_timeout, [deliver] {
      deliver(fail(Code::Timeout, "the device plugin does not answer"));
    });
    start(deliver);
  }
};

void DeviceManager::State::restore() {
  auto bytes = store->read();
  if (!bytes) {
    log(LogLevel::Error, kLog, to_string(bytes.error()));
    return;
  }
  if (!*bytes) {
    return;
  }
  auto checkpoint = decode_checkpoint(**bytes);
  if (!checkpoint) {
    log(LogLevel::Error, kLog,
        fmt::format("{}; starting from what the runtime and the API know",
                    checkpoint.error().message));
    return;
  }
  for (Holding& holding : checkpoint->holdings) {
    if (checkpoint->boot_id != options.boot_id) {
      unproven.insert(holding.pod_uid);
    }
    const std::string what = fmt::format("{} of pod {}", holding.resource, holding.pod_uid);
    if (!ledger.record(std::move(holding))) {
      log(LogLevel::Error, kLog, "checkpoint gives a device twice, ignoring the second: " + what);
    }
  }
  for (const auto& [resource, ids] : checkpoint->registered) {
    endpoints.restore(resource);
  }
  for (const std::string& resource : checkpoint->departed) {
    endpoints.restore_departed(resource);
  }
}

void DeviceManager::State::save() {
  Checkpoint checkpoint{.boot_id = options.boot_id,
                        .holdings = ledger.all(),
                        .registered = {},
                        .departed = endpoints.departed()};
  for (const std::string& resource : endpoints.resources()) {
    checkpoint.registered[resource] = endpoints.pool(resource)->healthy();
  }
  save_again.cancel();
  if (const auto written = store->write(encode_checkpoint(checkpoint)); !written) {
    log(LogLevel::Error, kLog, to_string(written.error()));
    save_again.set(kSaveAgain, [this] { save(); });
  }
}

void DeviceManager::State::changed() {
  save();
  if (change_posted) {
    return;
  }
  change_posted = true;
  loop->post([weak = weak_from_this()] {
    if (const auto state = weak.lock()) {
      state->change_posted = false;
      state->options.on_change();
    }
  });
}

void DeviceManager::State::serve() {
  if (serving || queue.empty()) {
    return;
  }
  serving = true;
  loop->post([weak = weak_from_this(), allocation = queue.front()] {
    if (const auto state = weak.lock()) {
      state->step(allocation);
    }
  });
}

PickRequest DeviceManager::State::pick_request(const Allocation& allocation,
                                               const DeviceRequest& request) const {
  const std::string& uid = allocation.pod->meta.uid;
  PickRequest pick{.pod_uid = uid,
                   .container = request.container,
                   .resource = request.resource,
                   .required = request.count};
  if (const Holding* existing = ledger.find(uid, request.container, request.resource)) {
    pick.existing = existing->ids();
  }
  if (const DevicePool* pool = endpoints.pool(request.resource)) {
    pick.registered = true;
    if (endpoints.live(request.resource)) {
      pick.healthy = pool->healthy();
    }
    for (const std::string& id : pick.healthy) {
      if (const auto nodes = pool->numa_of(id); !nodes.empty()) {
        pick.numa[id] = nodes;
      }
    }
  }
  pick.held = ledger.held(request.resource);
  if (const auto left = allocation.reusable.find(request.resource);
      left != allocation.reusable.end()) {
    pick.reusable = left->second;
  }
  if (request.role == Role::Init) {
    // A pod whose init phase runs again: its app containers do not run, so what they hold is there
    // to use.
    for (const Holding* holding : ledger.of_pod(uid)) {
      const auto spec = std::ranges::find(allocation.pod->spec.containers, holding->container,
                                          &model::Container::name);
      if (holding->resource == request.resource && spec != allocation.pod->spec.containers.end()) {
        const auto ids = holding->ids();
        pick.reusable.insert(ids.begin(), ids.end());
      }
    }
  }
  if (request.resource == model::kGpuResource) {
    pick.chosen = chosen_gpus(*allocation.pod);
  }
  return pick;
}

std::optional<std::vector<std::string>>
DeviceManager::State::chosen_gpus(const model::Pod& pod) const {
  const auto annotation = pod.meta.annotations.find(model::kGpuIndicesAnnotation);
  if (annotation == pod.meta.annotations.end()) {
    return std::nullopt;
  }
  std::vector<std::string> ids;
  const auto mask = hardware::parse_gpu_indices(annotation->second);
  for (int index = 0; mask && index < 32; ++index) {
    if ((*mask >> index) & 1U) {
      // A GPU that is not here stays in the list, so that the message can name it.
      ids.push_back(options.gpu_of_index(index).value_or(fmt::format("gpu {}", index)));
    }
  }
  return ids;
}

bool DeviceManager::State::may_come_back(std::string_view resource) const {
  if (endpoints.pool(resource)) {
    return !endpoints.live(resource);
  }
  return loop->now() < started_at + options.startup_wait;
}

AllocationVerdict DeviceManager::State::verdict_of(const Error& error,
                                                   const PickRequest& request) const {
  if (may_come_back(request.resource)) {
    return {AllocationVerdict::Kind::Wait, error.message};
  }
  // Devices in the hands of pods that are on their way out will be free.
  std::size_t coming = 0;
  std::size_t held = 0;
  for (const std::string& id : missing_devices(request)) {
    const std::string holder = ledger.holder(request.resource, id);
    coming += holder != request.pod_uid && options.holder_state(holder) == HolderState::Dying;
    ++held;
  }
  std::size_t usable = request.healthy.size();
  if (request.chosen) {
    usable = static_cast<std::size_t>(std::ranges::count_if(*request.chosen, [&](const auto& id) {
      return std::ranges::find(request.healthy, id) != request.healthy.end();
    }));
  }
  const std::size_t after = usable - std::min(held, usable) + coming;
  const bool enough =
      !request.existing && coming > 0 && static_cast<std::int64_t>(after) >= request.required;
  return {enough ? AllocationVerdict::Kind::Wait : AllocationVerdict::Kind::Rejected,
          error.message};
}

// What other pods have on record of the same devices is out of date: their use has been seen.
void DeviceManager::State::take_from_others(const Holding& used) {
  for (const std::string& id : used.ids()) {
    const std::string other = ledger.holder(used.resource, id);
    if (other.empty() || other == used.pod_uid) {
      continue;
    }
    log(LogLevel::Warn, kLog,
        fmt::format("checkpoint gives {} {} to pod {}, but container {} of pod {} uses it",
                    used.resource, id, other, used.container, used.pod_uid));
    std::vector<std::string> containers;
    for (const Holding* holding : ledger.of_pod(other)) {
      const auto ids = holding->ids();
      if (holding->resource == used.resource && std::ranges::binary_search(ids, id)) {
        containers.push_back(holding->container);
      }
    }
    for (const std::string& container : containers) {
      ledger.erase(other, container, used.resource);
    }
  }
}

// True if any pod was.
bool DeviceManager::State::collect_gone() {
  bool any = false;
  for (const std::string& uid : ledger.pods()) {
    if (options.holder_state(uid) == HolderState::Gone) {
      log(LogLevel::Info, kLog, fmt::format("releasing devices of pod {}, which is gone", uid));
      ledger.erase_pod(uid);
      unproven.erase(uid);
      any = true;
    }
  }
  return any;
}

void DeviceManager::State::step(const std::shared_ptr<Allocation>& allocation) {
  if (allocation->cancelled) {
    finish(allocation, {AllocationVerdict::Kind::Rejected, "the pod is being deleted"});
    return;
  }
  if (allocation->next == 0) {
    collect_gone();
  }
  if (allocation->next == allocation->requests.size()) {
    unproven.erase(allocation->pod->meta.uid);
    finish(allocation, {});
    return;
  }
  const DeviceRequest& request = allocation->requests[allocation->next];
  const PickRequest pick = pick_request(*allocation, request);
  const auto plan = plan_pick(pick);
  if (!plan) {
    finish(allocation, verdict_of(plan.error(), pick));
    return;
  }
  if (pick.existing) {
    pass_on(*allocation, request);
    ++allocation->next;
    step(allocation);
    return;
  }
  ask(allocation, request, *plan);
}

// Asks the plugin which it would prefer, where there is a choice. Advice: a failure is logged and
// passed over.
void DeviceManager::State::ask(const std::shared_ptr<Allocation>& allocation,
                               const DeviceRequest& request, const PickPlan& plan) {
  const auto endpoint = endpoints.live(request.resource);
  const auto question = plan.question();
  const auto choose = [weak = weak_from_this(), allocation, request,
                       plan](const std::vector<std::string>& preferred) {
    const auto state = weak.lock();
    if (!state) {
      return;
    }
    auto ids = finish_pick(plan, preferred);
    if (!ids) {
      state->finish(allocation, {AllocationVerdict::Kind::Rejected, ids.error().message});
      return;
    }
    state->fetch(allocation, request, std::move(*ids));
  };
  if (!endpoint || !question || !endpoint->options.get_preferred_allocation_available) {
    choose({});
    return;
  }
  call<std::vector<std::string>>(
      [&](auto done) { endpoint->plugin->get_preferred_allocation(*question, done); },
      [choose](Result<std::vector<std::string>> preferred) {
        if (!preferred) {
          log(LogLevel::Warn, kLog,
              fmt::format("device plugin GetPreferredAllocation rpc failed with err: {}",
                          preferred.error().message));
        }
        choose(preferred.value_or(std::vector<std::string>()));
      });
}

// Gets from the plugin what the container needs to use the devices.
void DeviceManager::State::fetch(const std::shared_ptr<Allocation>& allocation,
                                 const DeviceRequest& request, std::vector<std::string> ids) {
  const auto endpoint = endpoints.live(request.resource);
  if (!endpoint) {
    const std::string text = endpoints.pool(request.resource)
                                 ? fmt::format("endpoint {} has been stopped", request.resource)
                                 : fmt::format("unknown Device Plugin {}", request.resource);
    finish(allocation, {may_come_back(request.resource) ? AllocationVerdict::Kind::Wait
                                                        : AllocationVerdict::Kind::Rejected,
                        text});
    return;
  }
  call<std::vector<ContainerAllocateResponse>>(
      [&](auto done) { endpoint->plugin->allocate({ids}, done); },
      [this, allocation, request, ids](Result<std::vector<ContainerAllocateResponse>> responses) {
        if (!responses) {
          const bool gone = responses.error().code == Code::Unavailable ||
                            responses.error().code == Code::Timeout;
          finish(allocation,
                 {gone ? AllocationVerdict::Kind::Wait : AllocationVerdict::Kind::Rejected,
                  responses.error().message});
          return;
        }
        if (responses->empty()) {
          finish(allocation, {AllocationVerdict::Kind::Rejected,
                              "no containers return in allocation response []"});
          return;
        }
        grant(allocation, request, ids, std::move(responses->front()));
      });
}

void DeviceManager::State::grant(const std::shared_ptr<Allocation>& allocation,
                                 const DeviceRequest& request, const std::vector<std::string>& ids,
                                 ContainerAllocateResponse response) {
  const DevicePool* pool = endpoints.pool(request.resource);
  const auto healthy = pool ? pool->healthy() : std::vector<std::string>();
  const bool still_well = std::ranges::all_of(
      ids, [&](const std::string& id) { return std::ranges::find(healthy, id) != healthy.end(); });
  if (allocation->cancelled || !still_well) {
    // A device failed while the plugin was asked: look again, it is not to be given.
    step(allocation);
    return;
  }
  Holding holding{.pod_uid = allocation->pod->meta.uid,
                  .container = request.container,
                  .resource = request.resource,
                  .response = std::move(response)};
  for (const std::string& id : ids) {
    const auto nodes = pool->numa_of(id);
    for (const std::int64_t node : nodes) {
      holding.devices[node].push_back(id);
    }
    if (nodes.empty()) {
      holding.devices[-1].push_back(id);
    }
  }
  if (!ledger.record(std::move(holding))) {
    step(allocation);
    return;
  }
  allocation->granted.emplace_back(request.container, request.resource);
  pass_on(*allocation, request);
  save();
  ++allocation->next;
  step(allocation);
}

// What an init container had, later containers of its pod may have; what any other container has,
// they may not.
void DeviceManager::State::pass_on(Allocation& allocation, const DeviceRequest& request) {
  const Holding* holding =
      ledger.find(allocation.pod->meta.uid, request.container, request.resource);
  std::set<std::string>& reusable = allocation.reusable[request.resource];
  for (const std::string& id : holding ? holding->ids() : std::vector<std::string>()) {
    if (request.role == Role::Init) {
      reusable.insert(id);
    } else {
      reusable.erase(id);
    }
  }
}

void DeviceManager::State::finish(const std::shared_ptr<Allocation>& allocation,
                                  AllocationVerdict verdict) {
  if (verdict.kind != AllocationVerdict::Kind::Granted) {
    for (const auto& [container, resource] : allocation->granted) {
      ledger.erase(allocation->pod->meta.uid, container, resource);
    }
    if (!allocation->granted.empty()) {
      save();
    }
  }
  queue.pop_front();
  serving = false;
  serve();
  allocation->done(std::move(verdict));
}

AllocationVerdict DeviceManager::State::check_prepared(const model::Pod& pod,
                                                       const std::string& container) const {
  const bool old_boot = unproven.contains(pod.meta.uid);
  for (const DeviceRequest& request : requests_of(pod)) {
    if (request.container != container) {
      continue;
    }
    const Holding* holding = ledger.find(pod.meta.uid, container, request.resource);
    const auto endpoint = endpoints.live(request.resource);
    if (!holding || (holding->response == ContainerAllocateResponse() && !endpoint)) {
      return {AllocationVerdict::Kind::Wait,
              fmt::format(
                  "no devices found allocated in local cache for pod {}, container {}, resource {}",
                  pod_text(pod), container, request.resource)};
    }
    if (old_boot && !endpoint) {
      return {AllocationVerdict::Kind::Wait,
              fmt::format("endpoint not found in cache for a registered resource: {}",
                          request.resource)};
    }
    const auto healthy =
        old_boot ? endpoints.pool(request.resource)->healthy() : std::vector<std::string>();
    const bool well = std::ranges::all_of(holding->ids(), [&](const std::string& id) {
      return std::ranges::find(healthy, id) != healthy.end();
    });
    if (old_boot && !well) {
      return {AllocationVerdict::Kind::Rejected,
              fmt::format("previously allocated devices are no longer healthy; "
                          "cannot allocate unhealthy devices {}",
                          request.resource)};
    }
  }
  return {};
}

// Asks again for the edits of devices whose holder was found in the runtime only.
void DeviceManager::State::refill(const std::shared_ptr<const model::Pod>& pod,
                                  const std::string& container, DeviceManager::Done done) {
  for (const Holding* holding : ledger.of_container(pod->meta.uid, container)) {
    const auto endpoint = endpoints.live(holding->resource);
    if (holding->response == ContainerAllocateResponse() && endpoint) {
      call<std::vector<ContainerAllocateResponse>>(
          [&](auto answer) { endpoint->plugin->allocate({holding->ids()}, answer); },
          [this, pod, container, done = std::move(done),
           copy = *holding](Result<std::vector<ContainerAllocateResponse>> responses) mutable {
            if (!responses || responses->empty()) {
              done({AllocationVerdict::Kind::Wait,
                    responses ? "no containers return in allocation response []"
                              : responses.error().message});
              return;
            }
            copy.response = std::move(responses->front());
            const bool recorded = ledger.find(copy.pod_uid, copy.container, copy.resource) &&
                                  copy.response != ContainerAllocateResponse() &&
                                  ledger.record(copy);
            if (!recorded) {
              done({AllocationVerdict::Kind::Rejected, "the devices have been released"});
              return;
            }
            save();
            refill(pod, container, std::move(done));
          });
      return;
    }
  }
  done({});
}

DeviceManager::DeviceManager(Loop& loop, CheckpointStore& store, DeviceManagerOptions options)
    : state_(std::make_shared<State>(loop, store, std::move(options))) {
  state_->restore();
}

DeviceManager::~DeviceManager() {
  state_->save_again.cancel();
}

void DeviceManager::register_plugin(deviceplugin::RegisterRequest request,
                                    deviceplugin::Done<void> done) {
  state_->endpoints.register_plugin(std::move(request), std::move(done));
}

void DeviceManager::allocate(std::shared_ptr<const model::Pod> pod, AllocationScope scope,
                             Done done) {
  auto allocation = std::make_shared<Allocation>();
  allocation->requests = state_->requests_of(*pod);
  if (scope == AllocationScope::Running) {
    std::erase_if(allocation->requests,
                  [](const DeviceRequest& request) { return request.role == Role::Init; });
  }
  allocation->pod = std::move(pod);
  allocation->done = std::move(done);
  state_->queue.push_back(std::move(allocation));
  state_->serve();
}

void DeviceManager::prepare_container(std::shared_ptr<const model::Pod> pod,
                                      const std::string& container, Done done) {
  const AllocationVerdict verdict = state_->check_prepared(*pod, container);
  if (verdict.kind != AllocationVerdict::Kind::Granted) {
    state_->loop->post([done = std::move(done), verdict] { done(verdict); });
    return;
  }
  auto prestart = [state = state_.get(), pod, container, done](const AllocationVerdict& filled) {
    if (filled.kind != AllocationVerdict::Kind::Granted) {
      done(filled);
      return;
    }
    for (const Holding* holding : state->ledger.of_container(pod->meta.uid, container)) {
      const auto endpoint = state->endpoints.live(holding->resource);
      if (endpoint && endpoint->options.pre_start_required) {
        state->call<void>(
            [&](auto answer) { endpoint->plugin->pre_start_container(holding->ids(), answer); },
            [done](const Result<void>& result) {
              done(result
                       ? AllocationVerdict{}
                       : AllocationVerdict{
                             AllocationVerdict::Kind::Wait,
                             fmt::format("device plugin PreStartContainer rpc failed with err: {}",
                                         result.error().message)});
            });
        return;
      }
    }
    done({});
  };
  state_->loop->post([weak = std::weak_ptr(state_), pod, container, prestart] {
    if (const auto state = weak.lock()) {
      state->refill(pod, container, prestart);
    }
  });
}

ContainerAllocateResponse DeviceManager::edits_of(std::string_view pod_uid,
                                                  std::string_view container) const {
  ContainerAllocateResponse merged;
  for (const Holding* holding : state_->ledger.of_container(pod_uid, container)) {
    const ContainerAllocateResponse& response = holding->response;
    for (const auto& [name, value] : response.envs) {
      if (const auto [it, added] = merged.envs.emplace(name, value);
          !added && it->second != value) {
        log(LogLevel::Warn, kLog,
            fmt::format("conflicting values of environment variable {}", name));
      }
    }
    for (const deviceplugin::Mount& mount : response.mounts) {
      if (std::ranges::find(merged.mounts, mount.container_path,
                            &deviceplugin::Mount::container_path) == merged.mounts.end()) {
        merged.mounts.push_back(mount);
      }
    }
    for (const deviceplugin::DeviceSpec& device : response.devices) {
      if (std::ranges::find(merged.devices, device.container_path,
                            &deviceplugin::DeviceSpec::container_path) == merged.devices.end()) {
        merged.devices.push_back(device);
      }
    }
    merged.annotations.insert(response.annotations.begin(), response.annotations.end());
    for (const std::string& name : response.cdi_devices) {
      if (std::ranges::find(merged.cdi_devices, name) == merged.cdi_devices.end()) {
        merged.cdi_devices.push_back(name);
      }
    }
  }
  return merged;
}

void DeviceManager::release(std::string_view pod_uid) {
  for (const auto& allocation : state_->queue) {
    if (allocation->pod->meta.uid == pod_uid) {
      allocation->cancelled = true;
    }
  }
  if (state_->ledger.of_pod(pod_uid).empty()) {
    return;
  }
  state_->ledger.erase_pod(pod_uid);
  if (const auto it = state_->unproven.find(pod_uid); it != state_->unproven.end()) {
    state_->unproven.erase(it);
  }
  state_->changed();
}

void DeviceManager::release_init_surplus(const model::Pod& pod) {
  bool released = false;
  for (const ContainerRef& ref : containers_of(pod.spec)) {
    if (ref.role == Role::Init &&
        !state_->ledger.of_container(pod.meta.uid, ref.container->name).empty()) {
      state_->ledger.erase_container(pod.meta.uid, ref.container->name);
      released = true;
    }
  }
  if (released) {
    state_->changed();
  }
}

void DeviceManager::adopt(std::string_view pod_uid, std::string_view container,
                          const std::map<std::string, std::vector<std::string>>& devices,
                          Found found) {
  for (const auto& [resource, ids] : devices) {
    Holding holding{.pod_uid = std::string(pod_uid),
                    .container = std::string(container),
                    .resource = resource,
                    .devices = {{-1, ids}}};
    const Holding* recorded = state_->ledger.find(pod_uid, container, resource);
    if (recorded && (found == Found::Ended || recorded->ids() == holding.ids())) {
      continue;
    }
    if (found == Found::MayRun) {
      state_->take_from_others(holding);
    }
    if (!state_->ledger.record(std::move(holding))) {
      log(LogLevel::Warn, kLog,
          fmt::format("container {} of pod {}, which has ended, had {} that another pod has now",
                      container, pod_uid, resource));
      continue;
    }
    state_->save();
  }
}

void DeviceManager::forget_gone() {
  if (state_->collect_gone()) {
    state_->changed();
  }
}

std::map<std::string, DeviceCount> DeviceManager::accounting() const {
  return state_->endpoints.accounting();
}

bool DeviceManager::complete() const {
  return state_->endpoints.complete();
}

bool DeviceManager::live(std::string_view resource) const {
  return state_->endpoints.live(resource) != nullptr;
}

DeviceHealth DeviceManager::health(std::string_view resource, std::string_view id) const {
  const DevicePool* pool = state_->endpoints.pool(resource);
  return pool ? pool->health(id) : DeviceHealth::Unknown;
}

std::vector<std::string> DeviceManager::unhealthy(std::string_view resource) const {
  const DevicePool* pool = state_->endpoints.pool(resource);
  return pool ? pool->reported_unhealthy() : std::vector<std::string>();
}

const DeviceLedger& DeviceManager::ledger() const {
  return state_->ledger;
}

} // namespace berth::node
