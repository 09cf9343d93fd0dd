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
#include "berth/inventory/facts.h"
#include "berth/inventory/gpu_readings.h"
#include "berth/inventory/xid.h"

namespace berth::inventory {

/// Whether a GPU has joined its NVLink domain. Until then CUDA does not start on it (error 802).
enum class FabricState {
  None,       ///< it is in no such domain, or the driver does not say
  NotStarted, ///< its fabric manager has not begun
  InProgress,
  Completed,
  Failed, ///< completed, and not with success
};

/// What asking the GPU itself answers, at any time: NVML's handle, its recovery action and fabric.
struct GpuProbe {
  bool present = true; ///< false: fallen off the bus
  RecoveryAction action = RecoveryAction::None;
  int last_xid = 0; ///< the Xid behind `action`; 0 if none or unknown
  FabricState fabric = FabricState::None;

  bool fabric_ready() const {
    return fabric == FabricState::None || fabric == FabricState::Completed;
  }
  /// Fit to be given to a container.
  bool usable() const { return present && action == RecoveryAction::None && fabric_ready(); }
  bool operator==(const GpuProbe&) const = default;
};

/// Why the GPU is not usable, for people: "Xid 48 (double bit ECC error)", "lost", "needs a reset",
/// "its NVLink fabric is in progress"; "" if it is.
std::string illness(const GpuProbe& probe);

struct HealthEvent {
  enum class Kind {
    Xid,       ///< the driver logged Xid `xid` for the GPU
    Lost,      ///< the GPU is gone
    Recovered, ///< reset or replaced: a probe now finds it usable
    Fabric,    ///< the state of its fabric changed, a probe says how
    Mig,       ///< it is cut in another way or its MIG mode is to change, survey() says how
  };
  static constexpr int kWholeGpu = -1;

  Kind kind = Kind::Xid;
  int gpu = 0; ///< index
  int xid = 0;
  int gpu_instance = kWholeGpu; ///< of an Xid that concerns one MIG device alone
  int compute_instance = kWholeGpu;
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
  /// What the GPU does now, as far as that is known. Asks it.
  virtual GpuReadings readings(int /*index*/) const { return {}; }
  /// Every GPU as it is now, with its MIG devices. May ask each of them.
  virtual NodeFacts survey() const = 0;
  /// The device graph; nullptr when it is unknown (GPUs are then counted, not chosen).
  virtual const hardware::Platform* platform() const = 0;
  /// Events from now on, as later tasks of the Loop, in order.
  virtual std::unique_ptr<Subscription>
  subscribe(std::function<void(const HealthEvent&)> on_event) = 0;
};

} // namespace berth::inventory
