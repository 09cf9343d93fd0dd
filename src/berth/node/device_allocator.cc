#include "berth/node/device_allocator.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "berth/base/log.h"
#include "berth/node/pick_facts.h"
#include "berth/node/plugin_call.h"
#include "berth/node/pod_alignment.h"

namespace berth::node {
namespace {

constexpr std::string_view kLog = "device-manager";
using deviceplugin::ContainerAllocateResponse;

} // namespace

// One pod's way through allocation.
struct DeviceAllocator::Allocation {
  struct Stop {
    ContainerRef container;
    std::vector<DeviceRequest> requests;
  };
  std::shared_ptr<const model::Pod> pod;
  std::vector<Stop> stops;
  std::size_t stop = 0;
  std::size_t request = 0; ///< of the stop
  Done done;
  bool cancelled = false;
  bool started = false;
  std::map<std::string, std::set<std::string>>
      reusable; ///< resource to ids that init containers left
  std::vector<std::pair<std::string, std::string>>
      granted;                             ///< container, resource: new in this attempt
  std::unique_ptr<PodAlignment> alignment; ///< null: NUMA nodes do not count
  bool aligned = false;                    ///< the present container

  const DeviceRequest& now() const { return stops[stop].requests[request]; }
};

DeviceAllocator::DeviceAllocator(Loop& loop, std::shared_ptr<DeviceBook> book)
    : loop_(&loop), book_(std::move(book)) {}

void DeviceAllocator::allocate(std::shared_ptr<const model::Pod> pod, AllocationScope scope,
                               Done done) {
  auto allocation = std::make_shared<Allocation>();
  const std::vector<DeviceRequest> requests = book_->requests_of(*pod);
  for (const ContainerRef& ref : containers_of(pod->spec)) {
    if (scope == AllocationScope::Running && ref.role == Role::Init) {
      continue;
    }
    Allocation::Stop& stop = allocation->stops.emplace_back();
    stop.container = ref;
    std::ranges::copy_if(requests, std::back_inserter(stop.requests), [&](const auto& request) {
      return request.container == ref.container->name;
    });
  }
  if (book_->numa().active()) {
    allocation->alignment = std::make_unique<PodAlignment>(book_, pod);
    std::ranges::stable_partition(allocation->stops, [](const Allocation::Stop& stop) {
      return stop.container.role != Role::Init;
    });
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

PickRequest DeviceAllocator::facts(const Allocation& allocation,
                                   const DeviceRequest& request) const {
  const auto left = allocation.reusable.find(request.resource);
  PickRequest pick =
      pick_facts(*book_, *allocation.pod, request,
                 left == allocation.reusable.end() ? std::set<std::string>() : left->second);
  if (allocation.alignment) {
    pick.hint = allocation.alignment->nodes_of(request.container);
  }
  return pick;
}

AllocationVerdict DeviceAllocator::verdict_of(const Error& error, const PickRequest& request,
                                              const DeviceRequest& asked) const {
  // After a boot plugins find devices one by one: what a pod had before may be among the next.
  const bool had_it = request.existing && book_->unproven(request.pod_uid);
  if (had_it || book_->may_come_back(request.resource)) {
    return {AllocationVerdict::Kind::Wait, error.message};
  }
  // Devices in the hands of pods that are on their way out will be free.
  const Holding wanted = wanted_part(request.pod_uid, asked);
  const auto stays = [this](const std::string& pod) {
    return book_->options().holder_state(pod) != HolderState::Dying;
  };
  std::size_t coming = 0;
  std::size_t held = 0;
  for (const std::string& id : missing_devices(request)) {
    coming += wanted.part ? book_->ledger().has_room(wanted, id, stays)
                          : book_->comes_free(request.resource, id);
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
    finish(allocation, {AllocationVerdict::Kind::Rejected, "the pod is being deleted", ""});
    return;
  }
  if (!allocation->started) {
    allocation->started = true;
    book_->forget_gone();
    if (std::string fault = book_->part_fault(*allocation->pod); !fault.empty()) {
      finish(allocation, {AllocationVerdict::Kind::Rejected, std::move(fault), ""});
      return;
    }
  }
  while (allocation->stop < allocation->stops.size()) {
    const Allocation::Stop& stop = allocation->stops[allocation->stop];
    if (allocation->alignment && !allocation->aligned && !begin_container(allocation)) {
      return;
    }
    if (allocation->request < stop.requests.size()) {
      next_request(allocation);
      return;
    }
    if (allocation->alignment) {
      const auto verdict = allocation->alignment->complete(stop.container.container->name);
      if (verdict.kind != AllocationVerdict::Kind::Granted) {
        finish(allocation, verdict);
        return;
      }
    }
    ++allocation->stop;
    allocation->request = 0;
    allocation->aligned = false;
  }
  book_->prove(allocation->pod->meta.uid);
  finish(allocation, {});
}

// Where the container is to be is decided once its devices can be had at all, so that what is
// missing is waited for as ever. False: the allocation is over.
bool DeviceAllocator::begin_container(const Turn& allocation) {
  const Allocation::Stop& stop = allocation->stops[allocation->stop];
  std::vector<PickRequest> picks;
  for (const DeviceRequest& request : stop.requests) {
    picks.push_back(facts(*allocation, request));
    if (const auto plan = plan_pick(picks.back()); !plan) {
      finish(allocation, verdict_of(plan.error(), picks.back(), request));
      return false;
    }
  }
  AllocationVerdict verdict = allocation->alignment->begin(stop.container, picks);
  if (verdict.kind != AllocationVerdict::Kind::Granted) {
    finish(allocation, std::move(verdict));
    return false;
  }
  allocation->aligned = true;
  return true;
}

void DeviceAllocator::next_request(const Turn& allocation) {
  const DeviceRequest& request = allocation->now();
  const PickRequest pick = facts(*allocation, request);
  const auto plan = plan_pick(pick);
  if (!plan) {
    finish(allocation, verdict_of(plan.error(), pick, request));
    return;
  }
  if (pick.existing) {
    pass_on(*allocation, request);
    ++allocation->request;
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
      [this, allocation, request, ids,
       asked = loop_->now()](Result<std::vector<ContainerAllocateResponse>> responses) {
        book_->counts().allocated(request.resource, loop_->now() - asked);
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
                  .devices = {},
                  .response = std::move(response),
                  .part = request.part};
  for (const std::string& id : ids) {
    const auto nodes = pool->numa_of(id);
    for (const std::int64_t node : nodes) {
      holding.devices[node].push_back(id);
    }
    if (nodes.empty()) {
      holding.devices[-1].push_back(id);
    }
  }
  book_->tell_part(*allocation->pod, holding);
  if (!book_->record(std::move(holding))) {
    step(allocation);
    return;
  }
  allocation->granted.emplace_back(request.container, request.resource);
  pass_on(*allocation, request);
  ++allocation->request;
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
    if (allocation->alignment) {
      allocation->alignment->take_back();
    }
  }
  queue_.pop_front();
  serving_ = false;
  serve();
  allocation->done(std::move(verdict));
}

} // namespace berth::node
