// What namespaces may have of HAMi's vGPUs: ResourceQuotas with limits.nvidia.com/gpumem (MiB) and
// limits.nvidia.com/gpucores (percent), which no API server counts, since it does not know how many
// GPUs they are of. Source: HAMi pkg/device/quota.go. There the quota that was seen last counts and
// 0 is no limit (until 2.8); here the tightest does, and 0 is 0.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "berth/api/object.h"
#include "berth/model/workload.h"

namespace berth::sched {

struct VgpuLimits {
  std::optional<std::int64_t> memory; ///< MiB of all vGPUs together
  std::optional<std::int64_t> cores;  ///< percent, likewise

  bool any() const { return memory || cores; }
  bool operator==(const VgpuLimits&) const = default;
};

VgpuLimits vgpu_limits(const model::ResourceQuota& quota);

/// Copyable.
class VgpuQuotas {
 public:
  /// Adds or replaces; one without such limits is as none.
  void set(const model::ResourceQuota& quota);
  /// Unknown keys are ignored.
  void remove(const api::Key& key);
  /// The tightest of the namespace. O(its quotas).
  VgpuLimits limits(std::string_view ns) const;

 private:
  std::map<std::string, std::map<std::string, VgpuLimits>, std::less<>> namespaces_; ///< by name
};

} // namespace berth::sched
