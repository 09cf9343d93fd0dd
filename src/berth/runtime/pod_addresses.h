// Pod addresses of a simulated machine, in 100.64.0.0/10: 100.G.N.H, where N is the number a
// machine's name ends in and G a hash of the rest, so that machines of one group never share an
// address.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

namespace berth::runtime {

/// A stable number of a name (FNV-1a, 64 bits).
std::uint64_t seed_of(std::string_view name);

/// Hands out the lowest free host number, from 2. After 253 addresses in use they repeat: nothing
/// routes them.
class PodAddresses {
 public:
  explicit PodAddresses(std::string_view machine);
  std::string take();
  void give_back(std::string_view address);

 private:
  std::string prefix_; ///< "100.71.1."
  std::set<std::string, std::less<>> used_;
};

} // namespace berth::runtime
