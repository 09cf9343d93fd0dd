// What an Xid (the driver's error number) means for the GPU that raised it. Source: NVIDIA's Xid
// catalogue and the k8s-device-plugin's default skip list (13, 31, 43, 45, 68, 109).
#pragma once

#include <string>
#include <string_view>

namespace berth::inventory {

/// NVML field 230, what must be done before the GPU can be trusted again.
enum class RecoveryAction { None, GpuReset, NodeReboot };

enum class XidClass {
  Ignored,     ///< the application's own fault, or informational
  Degraded,    ///< the GPU works on, with less margin; reset when convenient
  UntilReset,  ///< not to be used before a GPU reset
  UntilReboot, ///< not to be used before the node reboots
};

/// Unknown codes count as UntilReset, as the stock plugin treats every code that it does not skip.
XidClass classify_xid(int code);
RecoveryAction recovery_action(XidClass xid_class);
/// Short English meaning, e.g. "GPU has fallen off the bus"; "" for unknown codes.
std::string_view xid_meaning(int code);
/// "Xid 79 (GPU has fallen off the bus)".
std::string describe_xid(int code);

} // namespace berth::inventory
