#include "berth/node/devices_in_use.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace berth::node {

void DevicesInUse::add(const std::string& device, const std::string& pod,
                       const std::optional<GpuPart>& part) {
  Use& use = uses_[device];
  if (part) {
    use.parts[pod].push_back(*part);
  } else {
    use.whole.insert(pod);
  }
}

std::vector<std::string> DevicesInUse::broken() const {
  std::vector<std::string> broken;
  for (const auto& [device, use] : uses_) {
    std::vector<std::string> in_parts;
    PartUse sum;
    GpuPart whole;
    for (const auto& [pod, parts] : use.parts) {
      in_parts.push_back(pod);
      sum = sum + use_of_pod(parts);
      if (parts.front().gpu_memory >= whole.gpu_memory) {
        whole = parts.front();
      }
    }
    if (use.whole.size() > 1) {
      broken.push_back(fmt::format("{} is used by pods {}", device, fmt::join(use.whole, " and ")));
    } else if (!use.whole.empty() && !in_parts.empty()) {
      broken.push_back(fmt::format("{} is used whole by pod {} and in parts by {}", device,
                                   *use.whole.begin(), fmt::join(in_parts, ", ")));
    }
    if (!parts_fit({}, sum, whole)) {
      broken.push_back(fmt::format("parts of {} that pods {} use are {} together", device,
                                   fmt::join(in_parts, ", "), to_string(sum)));
    }
  }
  return broken;
}

} // namespace berth::node
