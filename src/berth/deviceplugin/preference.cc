#include "berth/deviceplugin/preference.h"

#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>

namespace berth::deviceplugin {
namespace {

Result<std::set<int>> indices_of(const inventory::Inventory& inventory,
                                 const std::vector<std::string>& ids) {
  std::set<int> indices;
  for (const std::string& id : ids) {
    const auto it = std::ranges::find(inventory.gpus(), id, &inventory::GpuInfo::uuid);
    if (it == inventory.gpus().end()) {
      return fail(Code::Invalid, fmt::format("invalid request: unknown device: {}", id));
    }
    indices.insert(it->index);
  }
  return indices;
}

hardware::GpuMask mask_of(const std::set<int>& indices) {
  hardware::GpuMask mask = 0;
  for (const int index : indices) {
    mask |= hardware::GpuMask{1} << index;
  }
  return mask;
}

// What must be, then the lowest indices.
std::set<int> lowest(const std::set<int>& available, std::set<int> chosen, std::size_t size) {
  for (auto it = available.begin(); it != available.end() && chosen.size() < size; ++it) {
    chosen.insert(*it);
  }
  return chosen;
}

std::set<int> best(const inventory::Inventory& inventory, hardware::ChoicePolicy policy,
                   const std::set<int>& available, const std::set<int>& required,
                   std::size_t size) {
  const hardware::Platform* platform = inventory.platform();
  if (!platform || platform->gpus.size() != inventory.gpus().size()) {
    return lowest(available, required, size);
  }
  const auto mask = hardware::choose_gpus(*platform, mask_of(available), static_cast<int>(size),
                                          policy, mask_of(required));
  if (!mask) {
    return lowest(available, required, size);
  }
  std::set<int> chosen;
  for (const int index : available) {
    if ((*mask >> index) & 1U) {
      chosen.insert(index);
    }
  }
  return chosen;
}

} // namespace

Result<std::vector<std::string>> preferred_gpus(const inventory::Inventory& inventory,
                                                hardware::ChoicePolicy policy,
                                                const PreferredAllocationRequest& request) {
  BERTH_TRY(std::set<int> available, indices_of(inventory, request.available));
  BERTH_TRY(const std::set<int> required, indices_of(inventory, request.must_include));
  available.insert(required.begin(), required.end());
  const auto size = static_cast<std::size_t>(std::max(request.allocation_size, 0));
  if (available.size() < size || required.size() > size) {
    return fail(
        Code::Invalid,
        fmt::format("invalid request: cannot choose devices: available {}, required {}, asked {}",
                    available.size(), required.size(), size));
  }
  std::set<int> usable = required;
  std::ranges::copy_if(available, std::inserter(usable, usable.end()),
                       [&](int index) { return inventory.probe(index).usable(); });
  const std::set<int>& from = usable.size() >= size ? usable : available;
  std::vector<std::string> ids;
  for (const int index : best(inventory, policy, from, required, size)) {
    ids.push_back(inventory.gpus()[static_cast<std::size_t>(index)].uuid);
  }
  return ids;
}

} // namespace berth::deviceplugin
