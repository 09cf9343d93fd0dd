#include "berth/deviceplugin/health/xid_policy.h"

#include <algorithm>

namespace berth::deviceplugin {

bool counts(const HealthChecks& checks, int xid) {
  if (checks.off) {
    return false;
  }
  if (checks.every_xid || std::ranges::binary_search(checks.enabled, xid)) {
    return true;
  }
  if (checks.no_xids || std::ranges::binary_search(checks.disabled, xid)) {
    return false;
  }
  switch (inventory::classify_xid(xid)) {
  case inventory::XidClass::Ignored:
  case inventory::XidClass::Degraded:
    return false;
  case inventory::XidClass::UntilReset:
  case inventory::XidClass::UntilReboot:
    return true;
  }
  return true;
}

bool is_sick(const HealthChecks& checks, const inventory::GpuProbe& probe) {
  if (checks.off || probe.usable()) {
    return false;
  }
  if (!probe.present || !probe.fabric_ready()) {
    return true;
  }
  // An action that no known Xid explains is the driver's own word.
  return probe.last_xid == 0 || counts(checks, probe.last_xid);
}

} // namespace berth::deviceplugin
