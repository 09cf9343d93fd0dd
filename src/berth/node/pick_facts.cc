#include "berth/node/pick_facts.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "berth/hardware/choose.h"

namespace berth::node {
namespace {

using topology::DeviceOffer;
using State = topology::DeviceOffer::State;

std::optional<std::vector<std::string>> chosen_gpus(const DeviceBook& book, const model::Pod& pod) {
  const auto annotation = pod.meta.annotations.find(model::kGpuIndicesAnnotation);
  if (annotation == pod.meta.annotations.end()) {
    return std::nullopt;
  }
  std::vector<std::string> ids;
  const auto mask = hardware::parse_gpu_indices(annotation->second);
  for (int index = 0; mask && index < 32; ++index) {
    if ((*mask >> index) & 1U) {
      // A GPU that is not here stays in the list, so that the message can name it.
      ids.push_back(book.options().gpu_of_index(index).value_or(fmt::format("gpu {}", index)));
    }
  }
  return ids;
}

// Containers that start only after this init container has ended: what they hold is there to use.
std::set<std::string> not_started_beside(const model::PodSpec& spec, const std::string& init) {
  std::set<std::string> names;
  bool after = false;
  for (const ContainerRef& ref : containers_of(spec)) {
    if (after && ref.role != Role::Init) {
      names.insert(ref.container->name);
    }
    after = after || ref.container->name == init;
  }
  return names;
}

bool contains(const std::vector<std::string>& ids, const std::string& id) {
  return std::ranges::find(ids, id) != ids.end();
}

// Healthy, and among the scheduler's choice if it made one.
bool may_be_used(const PickRequest& pick, const std::string& id) {
  return contains(pick.healthy, id) && (!pick.chosen || contains(*pick.chosen, id));
}

bool is_taken(const DeviceBook& book, const PickRequest& pick, const std::string& id,
              Holders holders) {
  if (!pick.held.contains(id)) {
    return false;
  }
  return holders == Holders::Everyone ||
         book.options().holder_state(book.ledger().holder(pick.resource, id)) != HolderState::Dying;
}

// The hints of a resource, each of whose devices `state_of` judges.
template <class StateOf>
topology::ResourceHints hints_of(const DeviceBook& book, const PickRequest& pick,
                                 StateOf state_of) {
  std::vector<DeviceOffer> offers;
  if (const DevicePool* pool = book.endpoints().pool(pick.resource)) {
    for (const deviceplugin::Device& device : pool->devices()) {
      offers.push_back({.nodes = device.numa_nodes, .state = state_of(device.id)});
    }
  }
  auto hints =
      topology::device_hints(offers, pick.required, book.numa().rules().machine->all_nodes());
  // None of what there is would be another number than what is held already.
  const bool changed =
      pick.existing && static_cast<std::int64_t>(pick.existing->size()) != pick.required;
  if (hints && changed) {
    hints->clear();
  }
  return {.resource = pick.resource, .hints = std::move(hints)};
}

} // namespace

PickRequest pick_facts(const DeviceBook& book, const model::Pod& pod, const DeviceRequest& request,
                       const std::set<std::string>& left) {
  const std::string& uid = pod.meta.uid;
  PickRequest pick{.pod_uid = uid,
                   .container = request.container,
                   .resource = request.resource,
                   .required = request.count};
  if (const Holding* existing = book.ledger().find(uid, request.container, request.resource)) {
    pick.existing = existing->ids();
  }
  if (const DevicePool* pool = book.endpoints().pool(request.resource)) {
    pick.registered = true;
    if (book.endpoints().live(request.resource)) {
      pick.healthy = pool->healthy();
    }
    for (const std::string& id : pick.healthy) {
      if (const auto nodes = pool->numa_of(id); !nodes.empty()) {
        pick.numa[id] = nodes;
      }
    }
  }
  pick.held = book.ledger().held(request.resource);
  pick.reusable = left;
  if (request.role == Role::Init) {
    const auto later = not_started_beside(pod.spec, request.container);
    for (const Holding* holding : book.ledger().of_pod(uid)) {
      if (holding->resource == request.resource && later.contains(holding->container)) {
        const auto ids = holding->ids();
        pick.reusable.insert(ids.begin(), ids.end());
      }
    }
  }
  if (request.resource == model::kGpuResource) {
    pick.chosen = chosen_gpus(book, pod);
  }
  return pick;
}

topology::ResourceHints device_hints(const DeviceBook& book, const PickRequest& pick, Role role,
                                     topology::Source source, Holders holders) {
  return hints_of(book, pick, [&](const std::string& id) {
    if (pick.existing) {
      return contains(*pick.existing, id) ? State::Free : State::Taken;
    }
    if (!may_be_used(pick, id)) {
      return State::Taken;
    }
    if (pick.reusable.contains(id)) {
      return role == Role::Init ? State::Free : State::Reusable;
    }
    const bool own_only = role == Role::Init && source == topology::Source::OwnPod;
    return own_only || is_taken(book, pick, id, holders) ? State::Taken : State::Free;
  });
}

topology::ResourceHints pod_device_hints(const DeviceBook& book, const PickRequest& pick,
                                         Holders holders) {
  return hints_of(book, pick, [&](const std::string& id) {
    if (pick.existing) {
      return contains(*pick.existing, id) ? State::Free : State::Taken;
    }
    return may_be_used(pick, id) && !is_taken(book, pick, id, holders) ? State::Free : State::Taken;
  });
}

} // namespace berth::node
