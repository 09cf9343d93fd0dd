#include "berth/node/device_allocator.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "berth/base/log.h"
#include "berth/hardware/choose.h"
#include "berth/node/plugin_call.h"

namespace berth::node {
namespace {

constexpr std::string_view kLog = "device-manager";
using deviceplugin::ContainerAllocateResponse;

} // namespace

// One pod's way through allocation.
struct DeviceAllocator::Allocation {
  std::shared_ptr<const model::Pod> pod;
  std::vector<DeviceRequest> requests;
  std::size_t next = 0;
  Done done;
  bool cancelled = false;
  std::map<std::string, std::set<std::string>>
      reusable; ///< resource to ids that init containers left
  std::vector<std::pair<std::string, std::string>>
      granted; ///< container, resource: new in this attempt
};

DeviceAllocator::DeviceAllocator(Loop& loop, std::shared_ptr<DeviceBook> book)
    : loop_(&loop), book_(std::move(book)) {}

void DeviceAllocator::allocate(std::shared_ptr<const model::Pod> pod, AllocationScope scope,
                               Done done) {
  auto allocation = std::make_shared<Allocation>();
  allocation->requests = book_->requests_of(*pod);
  if (scope == AllocationScope::Running) {
    std::erase_if(allocation->requests,
                  [](const DeviceRequest& request) { return request.role == Role::Init; });
  }
  allocation->pod = std::move(pod);
  allocation->done = std::move(done);
  queue_.push_back(std::move(allocation));
  serve();
}

void DeviceAllocator::cancel(std::string_view pod_uid) {
  for (const Turn& allocation : queue_) {
    if (allocation->pod->meta.uid == pod_uid) {
      allocation->cancelled = true;
    }
  }
}

void DeviceAllocator::serve() {
  if (serving_ || queue_.empty()) {
    return;
  }
  serving_ = true;
  loop_->post([weak = weak_from_this(), allocation = queue_.front()] {
    if (const auto state = weak.lock()) {
      state->step(allocation);
    }
  });
}

PickRequest DeviceAllocator::pick_request(const Allocation& allocation,
                                          const DeviceRequest& request) const {
  const std::string& uid = allocation.pod->meta.uid;
  PickRequest pick{.pod_uid = uid,
                   .container = request.container,
                   .resource = request.resource,
                   .required = request.count};
  if (const Holding* existing = book_->ledger().find(uid, request.container, request.resource)) {
    pick.existing = existing->ids();
  }
  if (const DevicePool* pool = book_->endpoints().pool(request.resource)) {
    pick.registered = true;
    if (book_->endpoints().live(request.resource)) {
      pick.healthy = pool->healthy();
    }
    for (const std::string& id : pick.healthy) {
      if (const auto nodes = pool->numa_of(id); !nodes.empty()) {
        pick.numa[id] = nodes;
      }
    }
  }
  pick.held = book_->ledger().held(request.resource);
  if (const auto left = allocation.reusable.find(request.resource);
      left != allocation.reusable.end()) {
    pick.reusable = left->second;
  }
  if (request.role == Role::Init) {
    // A pod whose init phase runs again: its app containers do not run, so what they hold is there
    // to use.
    for (const Holding* holding : book_->ledger().of_pod(uid)) {
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

std::optional<std::vector<std::string>> DeviceAllocator::chosen_gpus(const model::Pod& pod) const {
  const auto annotation = pod.meta.annotations.find(model::kGpuIndicesAnnotation);
  if (annotation == pod.meta.annotations.end()) {
    return std::nullopt;
  }
  std::vector<std::string> ids;
  const auto mask = hardware::parse_gpu_indices(annotation->second);
  for (int index = 0; mask && index < 32; ++index) {
    if ((*mask >> index) & 1U) {
      // A GPU that is not here stays in the list, so that the message can name it.
      ids.push_back(book_->options().gpu_of_index(index).value_or(fmt::format("gpu {}", index)));
    }
  }
  return ids;
}

AllocationVerdict DeviceAllocator::verdict_of(const Error& error,
                                              const PickRequest& request) const {
  if (book_->may_come_back(request.resource)) {
    return {AllocationVerdict::Kind::Wait, error.message};
  }
  // Devices in the hands of pods that are on their way out will be free.
  std::size_t coming = 0;
  std::size_t held = 0;
  for (const std::string& id : missing_devices(request)) {
    const std::string holder = book_->ledger().holder(request.resource, id);
    coming +=
        holder != request.pod_uid && book_->options().holder_state(holder) == HolderState::Dying;
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

void DeviceAllocator::step(const Turn& allocation) {
  if (allocation->cancelled) {
    finish(allocation, {AllocationVerdict::Kind::Rejected, "the pod is being deleted"});
    return;
  }
  if (allocation->next == 0) {
    book_->drop_gone();
  }
  if (allocation->next == allocation->requests.size()) {
    book_->prove(allocation->pod->meta.uid);
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
void DeviceAllocator::ask(const Turn& allocation, const DeviceRequest& request,
                          const PickPlan& plan) {
  const auto endpoint = book_->endpoints().live(request.resource);
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
  call_plugin<std::vector<std::string>>(
      *loop_, book_->options().rpc_timeout, weak_from_this(),
      [&](const auto& done) { endpoint->plugin->get_preferred_allocation(*question, done); },
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
void DeviceAllocator::fetch(const Turn& allocation, const DeviceRequest& request,
                            std::vector<std::string> ids) {
  const auto endpoint = book_->endpoints().live(request.resource);
  if (!endpoint) {
    const std::string text = book_->endpoints().pool(request.resource)
                                 ? fmt::format("endpoint {} has been stopped", request.resource)
                                 : fmt::format("unknown Device Plugin {}", request.resource);
    finish(allocation, {book_->may_come_back(request.resource) ? AllocationVerdict::Kind::Wait
                                                               : AllocationVerdict::Kind::Rejected,
                        text});
    return;
  }
  call_plugin<std::vector<ContainerAllocateResponse>>(
      *loop_, book_->options().rpc_timeout, weak_from_this(),
      [&](const auto& done) { endpoint->plugin->allocate({ids}, done); },
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

void DeviceAllocator::grant(const Turn& allocation, const DeviceRequest& request,
                            const std::vector<std::string>& ids,
                            ContainerAllocateResponse response) {
  const DevicePool* pool = book_->endpoints().pool(request.resource);
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
  if (!book_->record(std::move(holding))) {
    step(allocation);
    return;
  }
  allocation->granted.emplace_back(request.container, request.resource);
  pass_on(*allocation, request);
  ++allocation->next;
  step(allocation);
}

// What an init container had, later containers of its pod may have; what any other container has,
// they may not.
void DeviceAllocator::pass_on(Allocation& allocation, const DeviceRequest& request) {
  const Holding* holding =
      book_->ledger().find(allocation.pod->meta.uid, request.container, request.resource);
  std::set<std::string>& reusable = allocation.reusable[request.resource];
  for (const std::string& id : holding ? holding->ids() : std::vector<std::string>()) {
    if (request.role == Role::Init) {
      reusable.insert(id);
    } else {
      reusable.erase(id);
    }
  }
}

void DeviceAllocator::finish(const Turn& allocation, AllocationVerdict verdict) {
  if (verdict.kind == AllocationVerdict::Kind::Wait &&
      book_->options().patience == Patience::None) {
    verdict.kind = AllocationVerdict::Kind::Rejected;
  }
  if (verdict.kind != AllocationVerdict::Kind::Granted) {
    book_->take_back(allocation->pod->meta.uid, allocation->granted);
  }
  queue_.pop_front();
  serving_ = false;
  serve();
  allocation->done(std::move(verdict));
}

} // namespace berth::node
