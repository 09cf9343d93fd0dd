// Which GPUs this machine has and how they are: what NVML says, behind one interface. Simulated
// here; NVML by dlopen is the other form. Facts of a GPU never change while the machine is up; its
// health does.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "berth/hardware/platform.h"
#include "berth/inventory/xid.h"

namespace berth::inventory {

struct GpuInfo {
  int index = 0;
  std::string uuid;        ///< "GPU-..."
  std::string pci_bus_id;  ///< "00000000:1b:00.0"
  std::optional<int> numa; ///< none: the machine does not say (never the same as node 0)
  int minor = 0;           ///< of /dev/nvidia<minor>
  std::int64_t memory_mib = 0;
  std::string product;
};

/// What asking the GPU itself answers, at any time: NVML's handle and its recovery action.
struct GpuProbe {
  bool present = true; ///< false: fallen off the bus
  RecoveryAction action = RecoveryAction::None;
  int last_xid = 0; ///< the Xid behind `action`; 0 if none or unknown

  /// Fit to be given to a container.
  bool usable() const { return present && action == RecoveryAction::None; }
  bool operator==(const GpuProbe&) const = default;
};

struct HealthEvent {
  enum class Kind {
    Xid,       ///< the driver logged Xid `xid` for the GPU
    Lost,      ///< the GPU is gone
    Recovered, ///< reset or replaced: a probe now finds it usable
  };
  Kind kind = Kind::Xid;
  int gpu = 0; ///< index
  int xid = 0;
};

/// Dropping it ends the subscription; nothing is delivered afterwards.
class Subscription {
 public:
  virtual ~Subscription() = default;
};

class Inventory {
 public:
  virtual ~Inventory() = default;

  /// By index. The order and the facts stay while the process lives.
  virtual const std::vector<GpuInfo>& gpus() const = 0;
  virtual GpuProbe probe(int index) const = 0;
  /// The device graph; nullptr when it is unknown (GPUs are then counted, not chosen).
  virtual const hardware::Platform* platform() const = 0;
  /// Health events from now on, as later tasks of the Loop, in order.
  virtual std::unique_ptr<Subscription>
  subscribe(std::function<void(const HealthEvent&)> on_event) = 0;
};

} // namespace berth::inventory
