#include "berth/node/pick_facts.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <ranges>

#include <fmt/format.h>

#include "berth/hardware/choose.h"
#include "berth/model/gpu_units.h"
#include "berth/model/requests.h"
#include "berth/node/chosen_slices.h"

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
  for (int index = 0; mask && index < model::kMaxGpus; ++index) {
    if ((*mask >> index) & 1U) {
      // A GPU that is not here stays in the list, so that the message can name it.
      ids.push_back(book.options().gpu_of_index(index).value_or(fmt::format("gpu {}", index)));
    }
  }
  return ids;
}

// The GPUs whose parts the scheduler chose; none if it chose none, or not as many as are asked for.
std::optional<std::vector<std::string>> chosen_parts(const DeviceBook& book, const model::Pod& pod,
                                                     std::int64_t count) {
  const auto share = model::gpu_share_of(pod, model::effective_requests(pod.spec));
  if (!share || std::ssize(share->indices) != count) {
    return std::nullopt;
  }
  std::vector<std::string> ids;
  for (const int index : share->indices) {
    ids.push_back(book.options().gpu_of_index(index).value_or(fmt::format("gpu {}", index)));
  }
  return ids;
}

std::string what_is_left(const DeviceBook& book, const Holding& wanted, const std::string& id) {
  const auto used = book.ledger().parts_in_use(
      wanted.resource, id, [&](const std::string& pod) { return pod != wanted.pod_uid; });
  if (!used) {
    return "is held whole by another pod";
  }
  return lack_of(*used, wanted.part->of(id));
}

void sort_by_index(const DeviceBook& book, std::vector<std::string>& ids) {
  if (const auto index_of = book.options().index_of_gpu) {
    std::ranges::stable_sort(ids, {}, [&](const std::string& id) {
      return index_of(id).value_or(std::numeric_limits<int>::max());
    });
  }
}

// What is asked is a part of each device: every container of the pod has it of the same ones,
// unless the parts are of single devices; of GPUs nobody chose the fullest that will do come first,
// as in the scheduler.
void part_facts(const DeviceBook& book, const model::Pod& pod, const DeviceRequest& request,
                PickRequest& pick) {
  const Holding wanted = wanted_part(pod.meta.uid, request);
  const auto everyone = [](const std::string&) { return true; };
  pick.in_parts = true;
  pick.held.clear();
  pick.reusable.clear();
  for (const std::string& id : pick.healthy) {
    if (!book.ledger().has_room(wanted, id, everyone)) {
      pick.held.insert(id);
      pick.why_held[id] = what_is_left(book, wanted, id);
    }
  }
  if (const auto& single = request.part->by_device; !single.empty()) {
    pick.chosen = std::vector<std::string>();
    std::ranges::copy(single | std::views::keys, std::back_inserter(*pick.chosen));
    sort_by_index(book, *pick.chosen);
    return;
  }
  std::vector<std::string> own;
  for (const Holding* holding : book.ledger().of_pod(pod.meta.uid)) {
    if (own.empty() && holding->resource == request.resource && holding->part) {
      own = holding->ids();
    }
  }
  if (!own.empty()) {
    pick.chosen = std::move(own);
    return;
  }
  pick.chosen = chosen_parts(book, pod, request.count);
  if (pick.chosen) {
    return;
  }
  const auto used = [&](const std::string& id) {
    const auto use = book.ledger().parts_in_use(request.resource, id, everyone).value_or(PartUse());
    return std::pair(-use.milli, -use.memory);
  };
  std::ranges::sort(pick.healthy);
  sort_by_index(book, pick.healthy);
  std::ranges::stable_sort(pick.healthy, {}, used);
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
  return holders == Holders::Everyone || !book.comes_free(pick.resource, id);
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
  if (request.part) {
    part_facts(book, pod, request, pick);
  } else if (request.resource == model::kGpuResource) {
    pick.chosen = chosen_gpus(book, pod);
  }
  // Of what is not whole the choice is followed as long as it can be.
  if (auto slices = request.part || pick.existing ? std::nullopt : chosen_slices(book, pod, pick)) {
    pick.chosen = std::move(slices);
  }
  return pick;
}

Holding wanted_part(const std::string& pod_uid, const DeviceRequest& request) {
  return {.pod_uid = pod_uid,
          .container = request.container,
          .resource = request.resource,
          .devices = {},
          .response = std::nullopt,
          .part = request.part};
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
