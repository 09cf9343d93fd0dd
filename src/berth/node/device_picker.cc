#include "berth/node/device_picker.h"

#include <algorithm>

#include <fmt/format.h>

namespace berth::node {
namespace {

bool contains(const std::vector<std::string>& ids, const std::string& id) {
  return std::ranges::find(ids, id) != ids.end();
}

// Healthy devices that the request may use at all, in order of preference.
std::vector<std::string> usable(const PickRequest& request) {
  if (!request.chosen) {
    return request.healthy;
  }
  std::vector<std::string> ids;
  std::ranges::copy_if(*request.chosen, std::back_inserter(ids),
                       [&](const std::string& id) { return contains(request.healthy, id); });
  return ids;
}

Result<void> check_existing(const PickRequest& request) {
  const auto existing = static_cast<std::int64_t>(request.existing->size());
  if (request.required != existing) {
    return fail(
        Code::Invalid,
        fmt::format("pod \"{}\" container \"{}\" changed request for resource \"{}\" from {} to {}",
                    request.pod_uid, request.container, request.resource, existing,
                    request.required));
  }
  return {};
}

Result<void> check_health(const PickRequest& request) {
  if (!request.registered) {
    return fail(Code::Unavailable,
                fmt::format("cannot allocate unregistered device {}", request.resource));
  }
  if (request.healthy.empty()) {
    return fail(Code::Invalid,
                fmt::format("no healthy devices present; cannot allocate unhealthy devices {}",
                            request.resource));
  }
  const bool well =
      !request.existing || std::ranges::all_of(*request.existing, [&](const std::string& id) {
        return contains(request.healthy, id);
      });
  if (!well) {
    return fail(Code::Invalid, fmt::format("previously allocated devices are no longer healthy; "
                                           "cannot allocate unhealthy devices {}",
                                           request.resource));
  }
  return {};
}

// Orders NUMA nodes: those of the hint, the others, devices without topology (-1); within each,
// nodes with fewer devices first, so that small nodes fill before large ones are broken.
std::vector<std::int64_t>
order_of_nodes(const std::map<std::int64_t, std::vector<std::string>>& by_node,
               const std::set<std::int64_t>& hint) {
  std::vector<std::int64_t> nodes;
  for (const auto& [node, ids] : by_node) {
    nodes.push_back(node);
  }
  const auto rank = [&](std::int64_t node) { return node == -1 ? 2 : hint.contains(node) ? 0 : 1; };
  std::ranges::stable_sort(nodes, [&](std::int64_t a, std::int64_t b) {
    const auto key = [&](std::int64_t node) {
      return std::pair(rank(node), by_node.at(node).size());
    };
    return key(a) < key(b);
  });
  return nodes;
}

void split(const PickRequest& request, const std::vector<std::string>& available, PickPlan& plan) {
  const bool any_topology = std::ranges::any_of(
      available, [&](const std::string& id) { return request.numa.contains(id); });
  if (!request.hint || !any_topology) {
    plan.no_affinity = available;
    return;
  }
  std::map<std::int64_t, std::vector<std::string>> by_node;
  for (const std::string& id : available) {
    const auto nodes = request.numa.find(id);
    if (nodes == request.numa.end() || nodes->second.empty()) {
      by_node[-1].push_back(id);
      continue;
    }
    for (const std::int64_t node : nodes->second) {
      by_node[node].push_back(id);
    }
  }
  std::set<std::string> placed;
  for (const std::int64_t node : order_of_nodes(by_node, *request.hint)) {
    std::vector<std::string>& group = node == -1                     ? plan.no_affinity
                                      : request.hint->contains(node) ? plan.aligned
                                                                     : plan.unaligned;
    for (const std::string& id : by_node[node]) {
      if (placed.insert(id).second) {
        group.push_back(id);
      }
    }
  }
}

// Moves ids that `from` allows into `picked` until enough.
void take(const std::vector<std::string>& ids, const std::vector<std::string>& from,
          std::size_t needed, std::vector<std::string>& picked) {
  for (const std::string& id : ids) {
    if (needed == 0) {
      return;
    }
    if (contains(from, id) && !contains(picked, id)) {
      picked.push_back(id);
      --needed;
    }
  }
}

std::vector<std::string> joined(std::initializer_list<const std::vector<std::string>*> parts) {
  std::vector<std::string> all;
  for (const auto* part : parts) {
    all.insert(all.end(), part->begin(), part->end());
  }
  return all;
}

// Why the scheduler's choice cannot be had, for people; "" where it was not the cause.
std::string choice_detail(const PickRequest& request) {
  if (!request.chosen) {
    return "";
  }
  std::string detail;
  for (const std::string& id : *request.chosen) {
    const bool sick = !contains(request.healthy, id);
    const bool taken = request.held.contains(id) && !request.reusable.contains(id);
    if (sick || taken) {
      const auto why = request.why_held.find(id);
      detail += fmt::format("{}{} {}", detail.empty() ? "; of the chosen devices " : ", ", id,
                            sick                            ? "is not healthy"
                            : why == request.why_held.end() ? "is held"
                                                            : why->second);
    }
  }
  return detail;
}

} // namespace

std::optional<deviceplugin::PreferredAllocationRequest> PickPlan::question() const {
  const std::vector<std::string> available =
      needed < aligned.size() ? joined({&aligned, &picked})
                              : joined({&aligned, &unaligned, &no_affinity, &picked});
  if (in_parts || needed == 0 || needed == aligned.size() || available.size() <= required) {
    return std::nullopt;
  }
  std::vector<std::string> must = picked;
  if (needed > aligned.size()) {
    must.insert(must.end(), aligned.begin(), aligned.end());
  }
  return deviceplugin::PreferredAllocationRequest{
      .available = available, .must_include = must, .allocation_size = static_cast<int>(required)};
}

Result<PickPlan> plan_pick(const PickRequest& request) {
  PickPlan plan{.required = static_cast<std::size_t>(std::max<std::int64_t>(request.required, 0)),
                .in_parts = request.in_parts};
  if (request.existing) {
    BERTH_CHECK(check_existing(request));
  }
  BERTH_CHECK(check_health(request));
  if (request.existing || plan.required == 0) {
    return plan;
  }
  const std::vector<std::string> may_use = usable(request);
  take(may_use, {request.reusable.begin(), request.reusable.end()}, plan.required, plan.picked);
  plan.needed = plan.required - plan.picked.size();
  if (plan.needed == 0) {
    return plan;
  }
  std::vector<std::string> available;
  std::ranges::copy_if(may_use, std::back_inserter(available), [&](const std::string& id) {
    return !request.held.contains(id) && !contains(plan.picked, id);
  });
  if (available.size() < plan.needed) {
    return fail(
        Code::Invalid,
        fmt::format(
            "requested number of devices unavailable for {}. Requested: {}, Available: {}{}",
            request.resource, plan.needed, available.size(), choice_detail(request)));
  }
  split(request, available, plan);
  return plan;
}

Result<std::vector<std::string>> finish_pick(const PickPlan& plan,
                                             const std::vector<std::string>& preferred) {
  std::vector<std::string> ids = plan.picked;
  const auto rest = [&] { return plan.required - ids.size(); };
  if (plan.needed < plan.aligned.size()) {
    take(preferred, plan.aligned, rest(), ids);
    take(plan.aligned, plan.aligned, rest(), ids);
  } else {
    take(plan.aligned, plan.aligned, rest(), ids);
    take(preferred, joined({&plan.unaligned, &plan.no_affinity}), rest(), ids);
    take(plan.unaligned, plan.unaligned, rest(), ids);
    take(plan.no_affinity, plan.no_affinity, rest(), ids);
  }
  if (rest() > 0 && plan.needed > 0) {
    return fail(
        Code::Internal,
        fmt::format("unexpectedly allocated less resources than required. Requested: {}, Got: {}",
                    plan.required, ids.size()));
  }
  return ids;
}

std::vector<std::string> missing_devices(const PickRequest& request) {
  std::vector<std::string> ids = usable(request);
  std::erase_if(ids, [&](const std::string& id) {
    return !request.held.contains(id) || request.reusable.contains(id);
  });
  return ids;
}

} // namespace berth::node
