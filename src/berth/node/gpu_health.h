// How the GPUs of a node are, by what its device plugins say of the devices on them, and telling of
// it: the mask for the Node's annotation, and an event for each GPU that fails or comes back.
#pragma once

#include <optional>

#include "berth/api/object.h"
#include "berth/client/events.h"
#include "berth/hardware/gpu_mask.h"
#include "berth/inventory/inventory.h"
#include "berth/node/device_manager.h"
#include "berth/node/gpu_devices.h"

namespace berth::node {

/// What it is made with outlives it.
class GpuHealth {
 public:
  /// `inventory` may be null: nothing is known of GPUs then.
  GpuHealth(const inventory::Inventory* inventory, const DeviceManager& devices, GpuDevices& places,
            client::EventRecorder& events);

  /// A GPU is unhealthy if it has devices and all of them are: itself, its replicas, its MIG
  /// devices. (One MIG device that is alone in its trouble is for who has it to know.) None while
  /// no live plugin has a device of this machine's GPUs.
  std::optional<hardware::GpuMask> unhealthy() const;

  /// Records events on `node` for what has changed since it was last told, or since what the node's
  /// annotation says, of which the first call takes note.
  void tell(const api::Object& node);

 private:
  void tell_of(const inventory::GpuInfo& gpu, bool sick, const api::Object& node) const;

  const inventory::Inventory* inventory_;
  const DeviceManager* devices_;
  client::EventRecorder* events_;
  GpuDevices* places_;
  std::optional<hardware::GpuMask> told_;
};

} // namespace berth::node
