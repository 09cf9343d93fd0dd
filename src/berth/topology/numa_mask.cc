#include "berth/topology/numa_mask.h"

#include "berth/topology/cpu_set.h"

namespace berth::topology {

NumaMask NumaMask::of(const std::vector<int>& ids) {
  NumaMask mask;
  for (const int id : ids) {
    if (id >= 0 && id < kMostNodes) {
      mask = mask | single(id);
    }
  }
  return mask;
}

std::vector<int> NumaMask::ids() const {
  std::vector<int> ids;
  for (std::uint64_t rest = bits_; rest != 0; rest &= rest - 1) {
    ids.push_back(std::countr_zero(rest));
  }
  return ids;
}

std::string NumaMask::to_string() const {
  return format_id_list(ids());
}

} // namespace berth::topology
