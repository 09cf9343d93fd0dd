// The Pod Security Standards: what a level forbids in a pod. Source: KEP-2579;
// k8s.io/pod-security-admission/policy.
#pragma once

#include <string>
#include <vector>

#include <boost/json/fwd.hpp>

#include "berth/store/pod_standards/levels.h"

namespace berth::store {

struct Violation {
  std::string reason; ///< "hostPort"
  std::string detail; ///< "container \"a\" uses hostPort 80"
};

/// A pod, or the template of one; either may be null.
struct PodShown {
  const boost::json::value* metadata = nullptr;
  const boost::json::value* spec = nullptr;
};

/// In the order of their names, baseline first; empty: it is allowed. O(size of the spec).
std::vector<Violation> violations(const PodShown& pod, const LevelVersion& level);

/// "hostPort, privileged"
std::string reasons_of(const std::vector<Violation>& all);
/// "hostPort (container \"a\" uses hostPort 80), ..."
std::string details_of(const std::vector<Violation>& all);

} // namespace berth::store
