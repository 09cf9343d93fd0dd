// Which devices running containers have, and whether that may be: what a simulated machine's
// invariants are asked of, independent of what the agent has on record.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "berth/node/gpu_part.h"

namespace berth::node {

class DevicesInUse {
 public:
  /// A container of the pod runs with the device, or with a part of it.
  void add(const std::string& device, const std::string& pod, const std::optional<GpuPart>& part);

  /// One line for each device that two pods have whole, that is whole with one and in parts with
  /// another, or whose parts are more than it has.
  std::vector<std::string> broken() const;

 private:
  struct Use {
    std::set<std::string> whole; ///< pods
    std::map<std::string, std::vector<GpuPart>> parts;
  };
  std::map<std::string, Use> uses_;
};

} // namespace berth::node
