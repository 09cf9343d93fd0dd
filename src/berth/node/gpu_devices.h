// Which physical GPU a device of a plugin is or lies on: a GPU by its UUID, a replica "UUID::n", a
// MIG device by its own UUID.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "berth/inventory/inventory.h"

namespace berth::node {

/// "GPU-x" of "GPU-x::3"; an id that is no replica's is itself.
std::string_view without_replica(std::string_view id);

/// Asks the inventory about MIG devices only when it meets one it has not seen.
class GpuDevices {
 public:
  /// `inventory` may be null: nothing is known then. It outlives this.
  explicit GpuDevices(const inventory::Inventory* inventory) : inventory_(inventory) {}

  /// Index of the GPU; none if it is not one of this machine's.
  std::optional<int> gpu_of(std::string_view id);
  /// UUID of the GPU with the index; none if there is no such GPU.
  std::optional<std::string> uuid_of(int gpu) const;

 private:
  const inventory::Inventory* inventory_;
  std::map<std::string, int, std::less<>> mig_; ///< as last surveyed
};

} // namespace berth::node
