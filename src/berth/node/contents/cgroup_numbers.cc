#include "berth/node/contents/cgroup_numbers.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "berth/model/requests.h"

namespace berth::node {
namespace {

constexpr std::int64_t kMinShares = 2;
constexpr std::int64_t kMaxShares = 262144;
constexpr std::int64_t kSharesOfCpu = 1024;
constexpr std::int64_t kMilliOfCpu = 1000;
constexpr std::int64_t kPeriodUs = 100'000;
constexpr std::int64_t kMinQuotaUs = 1'000;
constexpr std::int64_t kGuaranteedScore = -997;
constexpr std::int64_t kBestEffortScore = 1000;
constexpr std::string_view kNodeCritical = "system-node-critical";

const api::Quantity* amount(const model::ResourceList& list, std::string_view resource) {
  const auto found = list.find(resource);
  return found == list.end() ? nullptr : &found->second;
}

// A limit without a request is one, as the API server would have written it.
std::int64_t requested(const model::Container& container, std::string_view resource,
                       std::int64_t (api::Quantity::*unit)() const) {
  const api::Quantity* own = amount(container.resources.requests, resource);
  if (!own) {
    own = amount(container.resources.limits, resource);
  }
  return own ? std::max<std::int64_t>((own->*unit)(), 0) : 0;
}

/// The kernel's "2MB" of "hugepages-2Mi"; none for another resource.
std::optional<std::string> page_size_of(std::string_view resource) {
  constexpr std::string_view kPrefix = "hugepages-";
  if (!resource.starts_with(kPrefix) || !resource.ends_with('i')) {
    return std::nullopt;
  }
  std::string size(resource.substr(kPrefix.size()));
  size.back() = 'B';
  return size;
}

std::int64_t shares(std::int64_t milli) {
  // Beyond this the product would not fit, and the answer is the same.
  if (milli >= kMaxShares) {
    return kMaxShares;
  }
  return std::clamp(milli * kSharesOfCpu / kMilliOfCpu, kMinShares, kMaxShares);
}

std::int64_t quota(std::int64_t milli) {
  if (milli <= 0) {
    return 0;
  }
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / kPeriodUs;
  return std::max(std::min(milli, kMost) * kPeriodUs / kMilliOfCpu, kMinQuotaUs);
}

std::int64_t score_of(std::int64_t memory, std::int64_t capacity) {
  const double share = capacity <= 0 ? 0.0
                                     : static_cast<double>(std::min(memory, capacity)) /
                                           static_cast<double>(capacity);
  return kBestEffortScore - static_cast<std::int64_t>(share * 1000.0);
}

std::int64_t burstable_score(const model::Pod& pod, const model::Container& container, Role role,
                             std::int64_t capacity) {
  std::int64_t score = score_of(requested(container, "memory", &api::Quantity::value), capacity);
  // A sidecar is not to be killed before those whom it serves.
  if (role == Role::Sidecar && !pod.spec.containers.empty()) {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (const model::Container& app : pod.spec.containers) {
      least = std::min(least, requested(app, "memory", &api::Quantity::value));
    }
    score = std::min(score, score_of(least, capacity));
  }
  // Between the classes, never of one of them.
  return std::clamp(score, kBestEffortScore + kGuaranteedScore, kBestEffortScore - 1);
}

} // namespace

runtime::Resources cgroup_numbers(const model::Pod& pod, const model::Container& container,
                                  Role role, std::int64_t memory_capacity) {
  runtime::Resources out;
  out.cpu_shares = shares(requested(container, "cpu", &api::Quantity::milli_value));
  out.cpu_period_us = kPeriodUs;
  if (const api::Quantity* limit = amount(container.resources.limits, "cpu")) {
    out.cpu_quota_us = quota(limit->milli_value());
  }
  if (const api::Quantity* limit = amount(container.resources.limits, "memory")) {
    out.memory_limit_bytes = std::max<std::int64_t>(limit->value(), 0);
  }
  for (const auto& [resource, limit] : container.resources.limits) {
    if (const auto size = page_size_of(resource)) {
      out.hugepages[*size] = std::max<std::int64_t>(limit.value(), 0);
    }
  }
  const std::string_view qos = model::qos_class(pod.spec);
  if (pod.spec.priority_class_name == kNodeCritical || qos == "Guaranteed") {
    out.oom_score_adj = kGuaranteedScore;
  } else if (qos == "BestEffort") {
    out.oom_score_adj = kBestEffortScore;
  } else {
    out.oom_score_adj = burstable_score(pod, container, role, memory_capacity);
  }
  return out;
}

} // namespace berth::node
