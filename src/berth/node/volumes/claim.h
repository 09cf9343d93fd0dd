// Volumes that a PersistentVolumeClaim stands for: on a machine without storage drivers those whose
// PersistentVolume is a path on it (hostPath, local). Pure.
#pragma once

#include <string>

#include "berth/api/json.h"
#include "berth/api/object.h"
#include "berth/base/result.h"

namespace berth::node {

struct ClaimedPath {
  std::string path;
  std::string type; ///< see check_host_path()
  bool read_only = false;
};

/// The claim that a pod's volume names, or that is made for the pod; "" for other kinds.
std::string claim_of(const api::json::value& volume, const std::string& pod);
/// Error: a claim that was to be made for this pod belongs to something else, whose data it has.
Result<void> check_owner(const api::json::value& volume, const api::Object& claim,
                         const api::Object& pod);
/// The PersistentVolume that a claim is bound to. Error: it is not bound yet.
Result<std::string> bound_volume(const api::json::value& claim);
/// Error Invalid: a kind of PersistentVolume that needs a driver.
Result<ClaimedPath> claimed_path(const api::json::value& persistent_volume);

} // namespace berth::node
