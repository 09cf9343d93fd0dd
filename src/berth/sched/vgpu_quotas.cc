#include "berth/sched/vgpu_quotas.h"

#include <algorithm>

#include <fmt/format.h>

#include "berth/model/hami.h"

namespace berth::sched {
namespace {

std::optional<std::int64_t> limit_of(const model::ResourceQuota& quota, std::string_view resource) {
  const auto it = quota.hard.find(fmt::format("limits.{}", resource));
  return it == quota.hard.end() ? std::nullopt : std::optional(it->second.value());
}

void tighten(std::optional<std::int64_t>& limit, const std::optional<std::int64_t>& other) {
  if (other) {
    limit = limit ? std::min(*limit, *other) : *other;
  }
}

} // namespace

VgpuLimits vgpu_limits(const model::ResourceQuota& quota) {
  return {.memory = limit_of(quota, model::hami::kMemory),
          .cores = limit_of(quota, model::hami::kCores)};
}

void VgpuQuotas::set(const model::ResourceQuota& quota) {
  const VgpuLimits limits = vgpu_limits(quota);
  if (limits.any()) {
    namespaces_[quota.meta.ns][quota.meta.name] = limits;
  } else {
    remove({quota.meta.ns, quota.meta.name});
  }
}

void VgpuQuotas::remove(const api::Key& key) {
  const auto ns = namespaces_.find(key.ns);
  if (ns != namespaces_.end()) {
    ns->second.erase(key.name);
    if (ns->second.empty()) {
      namespaces_.erase(ns);
    }
  }
}

VgpuLimits VgpuQuotas::limits(std::string_view ns) const {
  VgpuLimits tightest;
  const auto found = namespaces_.find(ns);
  if (found != namespaces_.end()) {
    for (const auto& [name, limits] : found->second) {
      tighten(tightest.memory, limits.memory);
      tighten(tightest.cores, limits.cores);
    }
  }
  return tightest;
}

} // namespace berth::sched
