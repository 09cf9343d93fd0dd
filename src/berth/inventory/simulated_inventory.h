// The GPUs of a simulated machine: made from a catalogue platform, with faults that tests and
// scripts inject.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/loop.h"
#include "berth/base/result.h"
#include "berth/inventory/inventory.h"
#include "berth/inventory/subscribers.h"

namespace berth::inventory {

/// Outlives plugins and agents, as hardware does. Faults take effect at once (a probe sees them);
/// events follow on the Loop. UUIDs are hardware::gpu_uuid of the node's name, so that they are
/// stable over restarts.
class SimulatedInventory final : public Inventory {
 public:
  SimulatedInventory(Loop& loop, const hardware::Platform& platform, std::string_view node_name);
  /// GPUs of an unknown machine: `count` of them, without topology.
  SimulatedInventory(Loop& loop, int count, std::string_view node_name);
  ~SimulatedInventory() override;

  const std::vector<GpuInfo>& gpus() const override { return gpus_; }
  GpuProbe probe(int index) const override;
  NodeFacts survey() const override;
  const hardware::Platform* platform() const override { return platform_; }
  std::unique_ptr<Subscription>
  subscribe(std::function<void(const HealthEvent&)> on_event) override;

  /// The driver logs an Xid: by its class the GPU needs nothing, a reset or a reboot. Error
  /// NotFound: no such GPU.
  Result<void> xid(int gpu, int code);
  /// The GPU falls off the bus (with Xid 79) until repair().
  Result<void> lose(int gpu);
  /// Reset, reboot or replacement: the GPU is as new.
  Result<void> repair(int gpu);
  /// The driver logs an Xid for one MIG device; the rest of the GPU goes on.
  Result<void> xid_of(int gpu, const MigDevice& device, int code);
  /// The GPU is cut into MIG instances, as cut_gpu says; those it had are gone.
  Result<void> cut(int gpu, std::string_view wishes);
  /// MIG mode ends.
  Result<void> uncut(int gpu);
  /// Another MIG mode is asked for, as a driver has it while something uses the GPU, until the GPU
  /// is cut or uncut, or the machine reboots.
  Result<void> await_mig_change(int gpu);
  Result<void> set_fabric(int gpu, FabricState state);
  /// A reboot of the machine: GPUs that only needed that, or a reset, are usable again; lost ones
  /// stay lost. MIG instances are gone, MIG mode too except on Ampere.
  void reboot();

 private:
  Result<void> check(int gpu) const;
  void publish(const HealthEvent& event);

  Loop* loop_;
  const hardware::Platform* platform_ = nullptr;
  std::string node_name_;
  std::vector<GpuInfo> gpus_;
  std::vector<GpuProbe> state_;
  std::vector<std::optional<std::vector<MigDevice>>> mig_; ///< nothing: MIG is off
  std::vector<bool> mig_pending_;
  std::uint64_t cuts_ = 0;
  std::shared_ptr<Subscribers> subscribers_;
};

} // namespace berth::inventory
