#include "berth/node/discovered_labels.h"

#include <string_view>
#include <utility>

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
  before_.insert(found_.begin(), found_.end());
}

std::map<std::string, std::string> DiscoveredLabels::changes(const api::Labels& stored) const {
  std::map<std::string, std::string> wanted;
  if (!looked_) {
    return wanted;
  }
  for (const auto& [key, value] : stored) {
    const bool ours = before_.contains(key) || key.starts_with(kOfProfile);
    if (ours && key != kProduct && !found_.contains(key)) {
      wanted[key] = "";
    }
  }
  for (const auto& [key, value] : found_) {
    wanted[key] = value;
  }
  for (const auto& [key, value] : given_) {
    wanted.erase(key);
  }
  return wanted;
}

} // namespace berth::node
