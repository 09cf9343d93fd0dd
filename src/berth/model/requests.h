// What a pod asks for: the effective request per resource (KEP-753 sidecars, overhead, pod-level
// resources).
#pragma once

#include "berth/model/pod.h"

namespace berth::model {

/// spec 3.3: max over init phases and the running phase, plus sidecars and overhead; pod-level cpu,
/// memory and hugepages override. Extended resources given only as limits count as requests.
/// O(containers x resources).
ResourceList effective_requests(const PodSpec& spec);

/// What is left of it once no init phase comes any more: containers, sidecars and overhead.
ResourceList running_requests(const PodSpec& spec);

/// The same as effective_requests for scoring: a container without a cpu (memory) request counts
/// 100m (200 MiB).
ResourceList nonzero_requests(const PodSpec& spec);

/// GPUs (nvidia.com/gpu) the pod asks for, 0 if none.
std::int64_t gpu_request(const PodSpec& spec);

/// "Guaranteed", "Burstable" or "BestEffort".
std::string_view qos_class(const PodSpec& spec);

} // namespace berth::model
