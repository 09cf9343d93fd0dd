// What node health reads of a Lease (coordination.k8s.io/v1). A view, so decoded once a version.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "berth/api/object.h"
#include "berth/base/result.h"
#include "berth/base/time.h"

namespace berth::controllers {

/// The namespace of the nodes' leases; a node's lease has its name.
inline constexpr std::string_view kNodeLeaseNamespace = "kube-node-lease";

struct LeaseFact {
  bool standing =
      false; ///< a standing lease reads as renewed at every instant; see client::StandingLease
  std::optional<TimePoint> renewed;
};

Result<std::shared_ptr<const LeaseFact>> decode_lease_fact(const api::json::value& document);
inline Result<std::shared_ptr<const LeaseFact>> lease_fact(const api::Object& lease) {
  return lease.view<LeaseFact>(&decode_lease_fact);
}

} // namespace berth::controllers
