#include "berth/sched/numa_fit.h"

#include <algorithm>

#include "berth/model/requests.h"

namespace berth::sched {
namespace {

bool is_pinned(std::string_view name) {
  return name == "cpu" || name == "memory" || name.starts_with("hugepages-");
}

NumaAsks asks_of(const model::ResourceList& amounts, const ResourceNames& names) {
  NumaAsks out;
  for (const auto& [name, quantity] : amounts) {
    const auto id = names.find(name);
    if (const std::int64_t amount = amount_of(name, quantity); id && amount > 0) {
      out.push_back({.resource = *id,
                     .amount = amount,
                     .pinned = is_pinned(name),
                     .host_level = name == "ephemeral-storage" || is_extended_resource(name)});
    }
  }
  return out;
}

/// As API defaulting leaves them: a limit without a request is the request.
model::ResourceList requests_of(const model::Container& container) {
  model::ResourceList out = container.resources.requests;
  out.insert(container.resources.limits.begin(), container.resources.limits.end());
  return out;
}

std::int64_t* find_room(KnownAmounts& amounts, ResourceId id) {
  const auto it =
      std::ranges::lower_bound(amounts, id, {}, &std::pair<ResourceId, std::int64_t>::first);
  return it != amounts.end() && it->first == id ? &it->second : nullptr;
}

/// Does zone `zone` decide about this resource, and is what it has enough?
bool suits(const NumaAsk& ask, bool guaranteed, const KnownAmounts& zone) {
  const std::int64_t* free = find_amount(zone, ask.resource);
  return free != nullptr && ((ask.pinned && !guaranteed) || *free >= ask.amount);
}

/// The zone the kubelet would take, by index; none if no zone suits.
std::optional<std::size_t> zone_for(const NumaAsks& asks, bool guaranteed,
                                    const Resources& allocatable, const ZoneRoom& room) {
  std::uint64_t good = ~std::uint64_t{0};
  for (const NumaAsk& ask : asks) {
    if (allocatable.get(ask.resource) == 0) {
      return std::nullopt;
    }
    std::uint64_t suiting = 0;
    bool listed = false;
    for (std::size_t i = 0; i < room.size(); ++i) {
      listed = listed || find_amount(room[i], ask.resource) != nullptr;
      suiting |= std::uint64_t{suits(ask, guaranteed, room[i])} << i;
    }
    if (!listed && ask.host_level) {
      continue;
    }
    good &= suiting;
  }
  return good == 0 ? std::nullopt : std::optional(static_cast<std::size_t>(__builtin_ctzll(good)));
}

void take(const NumaAsks& asks, bool guaranteed, std::size_t zone, ZoneRoom& room) {
  for (const NumaAsk& ask : asks) {
    std::int64_t* free = zone < room.size() ? find_room(room[zone], ask.resource) : nullptr;
    if (free != nullptr && (guaranteed || !ask.pinned)) {
      *free -= ask.amount;
    }
  }
}

} // namespace

NumaPod numa_pod(const model::PodSpec& spec, const ResourceNames& names) {
  NumaPod out;
  const std::string_view qos = model::qos_class(spec);
  out.guaranteed = qos == "Guaranteed";
  for (const auto& container : spec.init_containers) {
    out.containers.push_back({.asks = asks_of(requests_of(container), names),
                              .init = true,
                              .keeps = container.restart_policy == "Always"});
  }
  for (const auto& container : spec.containers) {
    out.containers.push_back(
        {.asks = asks_of(requests_of(container), names), .init = false, .keeps = true});
  }
  model::ResourceList whole = model::effective_requests(spec);
  for (const auto& [name, quantity] : spec.overhead) {
    whole[name] -= quantity;
  }
  out.whole = asks_of(whole, names);
  out.needs_nothing = qos == "BestEffort" && std::ranges::none_of(whole, [](const auto& item) {
                        return is_extended_resource(item.first) && item.second.sign() > 0;
                      });
  return out;
}

NumaMisfit numa_misfit(const NumaPod& pod, const NumaReport& report, const Resources& allocatable,
                       ZoneRoom& room) {
  if (report.scope == NumaScope::Pod) {
    return zone_for(pod.whole, pod.guaranteed, allocatable, room) ? NumaMisfit::None
                                                                  : NumaMisfit::Pod;
  }
  for (const NumaPod::Container& container : pod.containers) {
    const auto zone = zone_for(container.asks, pod.guaranteed, allocatable, room);
    if (!zone) {
      return container.init ? NumaMisfit::InitContainer : NumaMisfit::Container;
    }
    if (container.keeps) {
      take(container.asks, pod.guaranteed, *zone, room);
    }
  }
  return NumaMisfit::None;
}

} // namespace berth::sched
