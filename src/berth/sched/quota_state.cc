#include "berth/sched/quota_state.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#include <fmt/format.h>

namespace berth::sched {
namespace {

bool is_always_compared(ResourceId id) {
  return id == kCpu || id == kMemory || id == kEphemeralStorage;
}

/// Is asked + used above limit(id) for some resource that counts?
template <class Limit>
bool any_above(const Resources& asked, const Resources& used, const Limit& limit) {
  const auto above = [&](ResourceId id, std::int64_t amount) {
    std::int64_t sum = 0;
    return (amount != 0 || is_always_compared(id)) &&
           (__builtin_add_overflow(amount, used.get(id), &sum) || sum > limit(id));
  };
  for (std::uint32_t i = 0; i < kInlineResources; ++i) {
    if (above(ResourceId(i), asked.common()[i])) {
      return true;
    }
  }
  return std::ranges::any_of(asked.others(),
                             [&](const auto& other) { return above(other.first, other.second); });
}

void add_all(Resources& to, const Resources& more) {
  for (std::uint32_t i = 0; i < kInlineResources; ++i) {
    to.add(ResourceId(i), more.common()[i]);
  }
  for (const auto& [id, amount] : more.others()) {
    to.add(id, amount);
  }
}

std::vector<std::pair<ResourceId, std::int64_t>> amounts_of(const model::ResourceList& list,
                                                            ResourceNames& names) {
  std::vector<std::pair<ResourceId, std::int64_t>> out;
  for (const auto& [name, quantity] : list) {
    if (is_counted_resource(name)) {
      out.emplace_back(names.intern(name), amount_of(name, quantity));
    }
  }
  std::ranges::sort(out);
  return out;
}

} // namespace

void add_requests(Resources& to, const PodInfo& pod, std::int64_t sign) {
  for (const auto& [resource, amount] : pod.requests) {
    to.add(resource, sign * amount);
  }
}

bool NamespaceQuota::over_max_with(const Resources& asked) const {
  return any_above(asked, used, [&](ResourceId id) {
    const auto it =
        std::ranges::lower_bound(max, id, {}, &std::pair<ResourceId, std::int64_t>::first);
    return it != max.end() && it->first == id ? it->second : INT64_MAX;
  });
}

bool NamespaceQuota::over_min_with(const Resources& asked) const {
  return any_above(asked, used, [&](ResourceId id) { return min.get(id); });
}

bool NamespaceQuota::over_min() const {
  return any_above(used, Resources(), [&](ResourceId id) { return min.get(id); });
}

void QuotaState::choose(Entry& entry, ResourceNames& names) {
  const auto oldest = std::ranges::min_element(entry.objects, {}, [](const auto& known) {
    return std::tuple(known.second->meta.creation_timestamp.value_or(TimePoint()),
                      std::string_view(known.first));
  });
  entry.quota.object = oldest->second;
  entry.quota.min = {};
  for (const auto& [id, amount] : amounts_of(oldest->second->min, names)) {
    entry.quota.min.set(id, amount);
  }
  entry.quota.max = amounts_of(oldest->second->max, names);
  sum_up();
}

void QuotaState::sum_up() {
  total_min_ = {};
  total_used_ = {};
  for (const auto& [ns, entry] : namespaces_) {
    add_all(total_min_, entry.quota.min);
    add_all(total_used_, entry.quota.used);
  }
}

bool QuotaState::set(QuotaPtr quota, ResourceNames& names) {
  const auto [it, fresh] = namespaces_.try_emplace(quota->meta.ns);
  std::string name = quota->meta.name;
  it->second.objects.insert_or_assign(std::move(name), std::move(quota));
  choose(it->second, names);
  return fresh;
}

void QuotaState::remove(const api::Key& key, ResourceNames& names) {
  const auto it = namespaces_.find(key.ns);
  if (it == namespaces_.end() || it->second.objects.erase(key.name) == 0) {
    return;
  }
  if (it->second.objects.empty()) {
    namespaces_.erase(it);
    sum_up();
  } else {
    choose(it->second, names);
  }
}

void QuotaState::count(const PodInfo& pod, std::int64_t sign) {
  const auto it = namespaces_.find(pod.ns());
  if (it != namespaces_.end()) {
    add_requests(it->second.quota.used, pod, sign);
    add_requests(total_used_, pod, sign);
  }
}

const NamespaceQuota* QuotaState::find(std::string_view ns) const {
  const auto it = namespaces_.find(ns);
  return it == namespaces_.end() ? nullptr : &it->second.quota;
}

bool QuotaState::total_over_min_with(const Resources& asked) const {
  Resources sum = total_used_;
  add_all(sum, asked);
  return any_above(sum, Resources(), [&](ResourceId id) { return total_min_.get(id); });
}

std::string QuotaState::dump(const ResourceNames& names) const {
  std::string out;
  auto to = std::back_inserter(out);
  for (const auto& [ns, entry] : namespaces_) {
    fmt::format_to(to, "quota {}/{} used", ns, entry.quota.object->meta.name);
    for (std::uint32_t i = 0; i < kInlineResources; ++i) {
      fmt::format_to(to, " {}", entry.quota.used.common()[i]);
    }
    for (const auto& [id, amount] : entry.quota.used.others()) {
      fmt::format_to(to, " {}:{}", names.name(id), amount);
    }
    out += "\n";
  }
  return out;
}

} // namespace berth::sched
