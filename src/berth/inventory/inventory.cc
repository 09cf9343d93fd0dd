#include "berth/inventory/inventory.h"

#include <fmt/format.h>

namespace berth::inventory {
namespace {

std::string_view word_of(FabricState state) {
  switch (state) {
  case FabricState::None:
    return "absent";
  case FabricState::NotStarted:
    return "not started";
  case FabricState::InProgress:
    return "in progress";
  case FabricState::Completed:
    return "completed";
  case FabricState::Failed:
    return "failed";
  }
  return "";
}

} // namespace

std::string illness(const GpuProbe& probe) {
  if (probe.usable()) {
    return "";
  }
  if (probe.last_xid != 0) {
    return describe_xid(probe.last_xid);
  }
  if (!probe.present) {
    return "lost";
  }
  switch (probe.action) {
  case RecoveryAction::None:
    return fmt::format("its NVLink fabric is {}", word_of(probe.fabric));
  case RecoveryAction::GpuReset:
    return "needs a reset";
  case RecoveryAction::NodeReboot:
    return "needs a reboot";
  }
  return "";
}

} // namespace berth::inventory
