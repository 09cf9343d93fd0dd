// The GPUs of this machine, through the driver's management library.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "berth/base/loop.h"
#include "berth/inventory/facts.h"
#include "berth/inventory/inventory.h"
#include "berth/inventory/nvml_reading.h"

namespace berth::inventory {

struct NvmlOptions {
  /// Files to try for the library, in this order; empty: nvml::usual_libraries().
  std::vector<std::string> libraries = {};
  /// Puts a task on the loop that the inventory lives on, from any thread. Empty: health is known
  /// by probes alone.
  std::function<void(Task)> post = {};
  nvml::PciOf pci_of = {}; ///< sysfs_pci("/sys") on a real machine
  unsigned wait_ms = 1000; ///< of one wait for events; what ending the inventory may take
};

/// Facts are read once, but for MIG devices. Health is what the driver says now (probe), and
/// events: Xids, uncorrectable memory errors (told as Xid 48), GPUs that get lost, and that are
/// usable again. Where the driver does not say which recovery a GPU needs, the last Xid decides
/// until the process ends. The driver has no event for a GPU that is cut in another way or joins
/// its fabric: while there is one for which either can happen it is compared at the end of each
/// wait.
class NvmlInventory final : public Inventory {
 public:
  /// Errors NotFound: no driver on this machine; Unavailable: it does not start.
  static Result<std::unique_ptr<NvmlInventory>> open(const NvmlOptions& options);
  ~NvmlInventory() override;

  const std::vector<GpuInfo>& gpus() const override;
  GpuProbe probe(int index) const override;
  GpuReadings readings(int index) const override;
  NodeFacts survey() const override;
  /// The catalogue's platform if GPU model, number and paths agree; else one made of what the
  /// library says, without NICs; nullptr if the paths cannot be read or there is no GPU.
  const hardware::Platform* platform() const override;
  std::unique_ptr<Subscription>
  subscribe(std::function<void(const HealthEvent&)> on_event) override;

  const NodeFacts& facts() const;
  /// What nvidia-smi topo -m would print of the GPUs.
  const hardware::TopoMatrix& matrix() const;
  /// Of a GPU now. Errors NotFound: no such GPU; Unavailable: the driver does not say.
  Result<std::vector<GpuProcess>> processes(int index) const;
  /// Whether one GPU can read another's memory directly; nothing if the driver does not say.
  std::optional<bool> reads_peer(int index, int peer) const;
  /// Memory errors that ECC could not correct since the driver was loaded; nothing if the GPU has
  /// no ECC or the driver does not say.
  std::optional<std::uint64_t> uncorrected_errors(int index) const;
  /// The MIG devices of a GPU now; facts() has those there were at the start.
  std::vector<MigDevice> mig_devices(int index) const;
  /// What is not known, and why, for people.
  const std::vector<std::string>& notes() const;

 private:
  struct State;
  explicit NvmlInventory(std::shared_ptr<State> state);
  std::shared_ptr<State> state_; ///< tasks on the loop hold it weakly
};

/// What a machine with sysfs mounted at `root` says: ROOT/bus/pci/devices/BUS/{numa_node,class}.
nvml::PciOf sysfs_pci(std::string root);

} // namespace berth::inventory
