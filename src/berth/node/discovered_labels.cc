#include "berth/node/discovered_labels.h"

#include <string_view>
#include <utility>

#include "berth/inventory/discovery_labels.h"

namespace berth::node {
namespace {

constexpr std::string_view kProduct = "nvidia.com/gpu.product";
constexpr std::string_view kOfProfile = "nvidia.com/mig-"; // nvidia.com/mig-1g.10gb.count

} // namespace

DiscoveredLabels::DiscoveredLabels(Discover discover, api::Labels given)
    : discover_(std::move(discover)), given_(std::move(given)) {}

void DiscoveredLabels::look_again() {
  if (!discover_) {
    return;
  }
  looked_ = true;
  found_ = discover_();
  if (before_.contains(kProduct) && !found_.contains(kProduct)) {
    found_.emplace(inventory::kMigStateLabel, inventory::kGpuUnknown);
  }
  before_.insert(found_.begin(), found_.end());
}

std::map<std::string, std::string> DiscoveredLabels::changes(const api::Labels& stored) const {
  std::map<std::string, std::string> wanted;
  if (!looked_) {
    return wanted;
  }
  // Also those that are not stored now: the Node may have been registered with them.
  for (const auto& [key, value] : before_) {
    wanted[key] = "";
  }
  for (const auto& [key, value] : stored) {
    if (key.starts_with(kOfProfile)) {
      wanted[key] = "";
    }
  }
  wanted[std::string(inventory::kMigStateLabel)] = "";
  wanted.erase(std::string(kProduct));
  for (const auto& [key, value] : found_) {
    wanted[key] = value;
  }
  for (const auto& [key, value] : given_) {
    wanted.erase(key);
  }
  return wanted;
}

} // namespace berth::node
