#include "berth/sched/node_info.h"

#include <algorithm>

namespace berth::sched {

bool clashes(const std::vector<HostPort>& used, const HostPort& wanted) {
  constexpr std::string_view kAnyAddress = "0.0.0.0";
  return std::ranges::any_of(used, [&](const HostPort& port) {
    return port.port == wanted.port && port.protocol == wanted.protocol &&
           (port.ip == wanted.ip || port.ip == kAnyAddress || wanted.ip == kAnyAddress);
  });
}

} // namespace berth::sched
