#include "berth/deviceplugin/discovery_options.h"

#include <algorithm>

namespace berth::deviceplugin {

inventory::LabelOptions discovery_options(const Config& config) {
  inventory::LabelOptions options{.mig = config.flags.mig_strategy};
  const SharedResources* shared = config.sharing.resources();
  if (shared == nullptr || shared->resources.empty()) {
    return options;
  }
  const auto gpu = std::ranges::find(shared->resources, "nvidia.com/gpu", &SharedResource::name);
  const SharedResource& resource =
      gpu == shared->resources.end() ? shared->resources.front() : *gpu;
  if (resource.replicas < 2) {
    return options;
  }
  options.sharing = config.sharing.strategy();
  options.replicas = resource.replicas;
  options.renamed = !resource.rename.empty() && resource.rename != resource.name;
  return options;
}

} // namespace berth::deviceplugin
