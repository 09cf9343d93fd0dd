// The fingerprint of a set of pods that node agents write into NodeResourceTopology
// (nodeTopologyPodsFingerprint), so that a reader can tell which pods the numbers account for.
// Follows github.com/k8stopologyawareschedwg/podfingerprint: "pfp0v001" and the hex of XXH64 over
// the sorted XXH64 of each pod's name, seeded with that of its namespace. Written from knowledge of
// that library, not held against its vectors.
#pragma once

#include <string>
#include <vector>

#include "berth/api/object.h"
#include "berth/model/pod.h"

namespace berth::sched {

/// The order of the pods does not matter. O(n log n).
std::string pod_fingerprint(const std::vector<api::Key>& pods);

/// Does the pod get CPUs or devices for itself alone: a device, or Guaranteed with whole CPUs in
/// some container?
bool has_exclusive_resources(const model::PodSpec& spec);

} // namespace berth::sched
