#include "berth/inventory/xid.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace berth::inventory {
namespace {

struct Row {
  int code;
  XidClass xid_class;
  std::string_view meaning;
};

using enum XidClass;

// Sorted by code.
constexpr std::array kRows{
    Row{13, Ignored, "graphics engine exception"},
    Row{31, Ignored, "GPU memory page fault"},
    Row{32, Ignored, "invalid or corrupted push buffer stream"},
    Row{43, Ignored, "GPU stopped processing a channel"},
    Row{45, Ignored, "preemptive cleanup"},
    Row{46, UntilReset, "GPU stopped processing"},
    Row{48, UntilReset, "double bit ECC error"},
    Row{54, UntilReset, "auxiliary power is not connected"},
    Row{61, UntilReset, "internal micro-controller breakpoint"},
    Row{62, UntilReset, "internal micro-controller halt"},
    Row{63, Degraded, "row remap recorded"},
    Row{64, UntilReset, "row remap failure"},
    Row{68, Ignored, "NVDEC exception"},
    Row{69, Ignored, "graphics engine class error"},
    Row{74, UntilReset, "NVLink error"},
    Row{79, UntilReboot, "GPU has fallen off the bus"},
    Row{92, Ignored, "high single bit ECC error rate"},
    Row{94, Degraded, "contained ECC error"},
    Row{95, UntilReset, "uncontained ECC error"},
    Row{109, Ignored, "context switch timeout"},
    Row{110, UntilReset, "security fault"},
    Row{119, UntilReset, "GSP RPC timeout"},
    Row{120, UntilReset, "GSP error"},
    Row{121, Ignored, "C2C link corrected error"},
    Row{136, UntilReset, "link training failed"},
    Row{137, Ignored, "NVLink FLA privilege error"},
    Row{140, UntilReset, "unrecovered ECC error"},
    Row{143, UntilReset, "GPU initialization error"},
    Row{144, UntilReset, "NVLink SAW error"},
    Row{145, UntilReset, "NVLink RLW error"},
    Row{146, UntilReset, "NVLink TLW error"},
    Row{147, UntilReset, "NVLink TREX error"},
    Row{148, UntilReset, "NVLink NVLPW_CTRL error"},
    Row{149, UntilReset, "NVLink NETIR error"},
    Row{150, UntilReset, "NVLink MSE error"},
    Row{151, UntilReboot, "key rotation error"},
    Row{154, Degraded, "GPU recovery action changed"},
    Row{155, UntilReset, "NVLink link down"},
    Row{156, UntilReset, "resource retirement"},
    Row{158, UntilReset, "GPU fatal timeout"},
    Row{171, UntilReset, "uncorrectable DRAM error"},
    Row{172, UntilReset, "uncorrectable SRAM error"},
};

const Row* find_row(int code) {
  const auto it = std::ranges::lower_bound(kRows, code, {}, &Row::code);
  return it != kRows.end() && it->code == code ? &*it : nullptr;
}

} // namespace

XidClass classify_xid(int code) {
  const Row* row = find_row(code);
  return row ? row->xid_class : UntilReset;
}

RecoveryAction recovery_action(XidClass xid_class) {
  switch (xid_class) {
  case Ignored:
  case Degraded:
    return RecoveryAction::None;
  case UntilReset:
    return RecoveryAction::GpuReset;
  case UntilReboot:
    return RecoveryAction::NodeReboot;
  }
  return RecoveryAction::GpuReset;
}

std::string_view xid_meaning(int code) {
  const Row* row = find_row(code);
  return row ? row->meaning : std::string_view();
}

std::string describe_xid(int code) {
  const std::string_view meaning = xid_meaning(code);
  return meaning.empty() ? fmt::format("Xid {}", code) : fmt::format("Xid {} ({})", code, meaning);
}

} // namespace berth::inventory
