// Which Pod Security Standards a namespace asks for by its labels. Source: KEP-2579;
// k8s.io/pod-security-admission/api/helpers.go.
#pragma once

#include <string>

#include "berth/store/errors.h"

namespace berth::store {

/// Each forbids what the one before it forbids, and more.
enum class SecurityLevel { Privileged, Baseline, Restricted };

inline constexpr int kLatestStandards = 1'000'000; ///< newer than every version

/// A level as it was in one version of Kubernetes.
struct LevelVersion {
  SecurityLevel level = SecurityLevel::Privileged;
  int minor = kLatestStandards; ///< of version 1

  bool operator==(const LevelVersion&) const = default;
};
/// "baseline:v1.30", "restricted:latest".
std::string to_string(const LevelVersion& what);

struct SecurityPolicy {
  LevelVersion enforce;
  LevelVersion audit;
  LevelVersion warn;

  bool all_privileged() const;
};

/// Labels that cannot be read add an error and ask for the most, but for audit and warn, which then
/// ask for nothing. Who enforces a level and does not say what to warn of is warned of it too.
SecurityPolicy security_policy(const api::Labels& labels, FieldErrors& errors);

} // namespace berth::store
