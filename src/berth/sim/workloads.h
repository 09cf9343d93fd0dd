// Manifests of random workloads, as documents: what users submit to a GPU cluster, in small.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "berth/api/object.h"
#include "berth/base/rng.h"

namespace berth::sim {

/// What some of a scenario's nodes offer instead of whole GPUs; some pods ask for them.
inline constexpr std::string_view kSharedResource = "nvidia.com/gpu.shared";
inline constexpr std::string_view kMigResource = "nvidia.com/mig-1g.10gb";
/// The profile that pods with HAMi's resources are for.
inline constexpr std::string_view kVgpuScheduler = "hami-scheduler";

/// Whether some pods ask for HAMi's vGPUs.
enum class Vgpus { Some, None };

/// A lone pod with 0 to 8 GPUs or parts of some; may fail, be restarted, carry a priority, or ask
/// for a product that may not exist.
std::vector<api::Object> random_pod(Rng& rng, std::string_view name, Vgpus vgpus);
/// A Job, indexed or not, some of whose pods may fail.
std::vector<api::Object> random_job(Rng& rng, std::string_view name, Vgpus vgpus);
/// A PodGroup and the Job whose pods are its members.
std::vector<api::Object> random_gang(Rng& rng, std::string_view name);
/// PriorityClasses "low" (-10) and "high" (1000) that random_pod refers to.
std::vector<api::Object> priority_classes();

} // namespace berth::sim
