// What is to be on the machine for one volume of a pod, before anything is done. Pure; carrying it
// out is the only place that writes.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "berth/base/result.h"
#include "berth/base/time.h"
#include "berth/node/volumes/claim.h"
#include "berth/node/volumes/empty_dir.h"
#include "berth/node/volumes/payload.h"
#include "berth/node/volumes/projected.h"

namespace berth::node {

struct VolumeFacts {
  std::string root; ///< the kubelet's
  ProjectedFacts projected;
  std::map<std::string, Result<ClaimedPath>> claims; ///< by name of the volume
};

struct HostPath {
  std::string type;
};

struct VolumePlan {
  std::string name;
  std::string path; ///< where it will be
  bool read_only = false;
  std::optional<std::int64_t> group; ///< fsGroup
  std::variant<EmptyDir, Payload, HostPath> what;
};

/// Error: why it cannot be, as the event FailedMount says it.
Result<VolumePlan> plan_volume(const api::json::value& volume, const VolumeFacts& facts);

/// Blocks: to be called in the background.
Result<SetUp> carry_out(const VolumePlan& plan, TimePoint now);

/// The volumes that containers of the pod mount; the others need not be there.
std::vector<const api::json::value*> used_volumes(const api::json::value& pod);

} // namespace berth::node
