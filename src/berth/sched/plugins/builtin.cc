// The registry of this room's plugins and the default profile: one line a plugin.
#include "berth/base/assert.h"
#include "berth/sched/framework.h"
#include "berth/sched/plugins/balanced_allocation.h"
#include "berth/sched/plugins/best_fit.h"
#include "berth/sched/plugins/bid_price.h"
#include "berth/sched/plugins/capacity_scheduling.h"
#include "berth/sched/plugins/default_binder.h"
#include "berth/sched/plugins/default_preemption.h"
#include "berth/sched/plugins/dot_product.h"
#include "berth/sched/plugins/dynamic_resources.h"
#include "berth/sched/plugins/fgd.h"
#include "berth/sched/plugins/gpu_clustering.h"
#include "berth/sched/plugins/gpu_packing.h"
#include "berth/sched/plugins/gpu_share.h"
#include "berth/sched/plugins/gpu_slices.h"
#include "berth/sched/plugins/gpu_topology.h"
#include "berth/sched/plugins/hami.h"
#include "berth/sched/plugins/image_locality.h"
#include "berth/sched/plugins/inter_pod_affinity.h"
#include "berth/sched/plugins/load_variation_risk_balancing.h"
#include "berth/sched/plugins/low_risk_over_commitment.h"
#include "berth/sched/plugins/node_affinity.h"
#include "berth/sched/plugins/node_name.h"
#include "berth/sched/plugins/node_ports.h"
#include "berth/sched/plugins/node_resource_topology_match.h"
#include "berth/sched/plugins/node_resources_allocatable.h"
#include "berth/sched/plugins/node_resources_fit.h"
#include "berth/sched/plugins/node_unschedulable.h"
#include "berth/sched/plugins/node_volume_limits.h"
#include "berth/sched/plugins/pod_topology_spread.h"
#include "berth/sched/plugins/priority_sort.h"
#include "berth/sched/plugins/random_score.h"
#include "berth/sched/plugins/scheduling_gates.h"
#include "berth/sched/plugins/taint_toleration.h"
#include "berth/sched/plugins/target_load_packing.h"
#include "berth/sched/plugins/target_workload.h"
#include "berth/sched/plugins/volume_binding.h"
#include "berth/sched/plugins/volume_restrictions.h"
#include "berth/sched/plugins/volume_zone.h"

namespace berth::sched {
namespace {

using MadePlugin = Result<std::unique_ptr<Plugin>>;

/// A factory for a plugin without arguments.
PluginFactory plain(std::unique_ptr<Plugin> (*make)()) {
  return [make](const PluginConfig& config) -> MadePlugin {
    const auto* members = config.args.if_object();
    if (!config.args.is_null() && (members == nullptr || !members->empty())) {
      return fail(Code::Invalid, "this plugin takes no args");
    }
    return make();
  };
}

/// A factory for a plugin whose arguments are checked and make no difference here.
template <class Args>
PluginFactory with_checked_args(Result<Args> (*parse)(const boost::json::value&),
                                std::unique_ptr<Plugin> (*make)()) {
  return [parse, make](const PluginConfig& config) -> MadePlugin {
    BERTH_CHECK(parse(config.args));
    return make();
  };
}

/// A factory that reads its arguments first.
template <class Args>
PluginFactory with_args(Result<Args> (*parse)(const boost::json::value&),
                        std::unique_ptr<Plugin> (*make)(Args)) {
  return [parse, make](const PluginConfig& config) -> MadePlugin {
    BERTH_TRY(Args args, parse(config.args));
    return make(std::move(args));
  };
}

MadePlugin taint_toleration(const PluginConfig& config) {
  return make_taint_toleration(config.version);
}

MadePlugin balanced_allocation(const PluginConfig& config) {
  BERTH_TRY(auto args, parse_balanced_allocation_args(config.args));
  return make_balanced_allocation(std::move(args), config.version);
}

} // namespace

Registry builtin_plugins() {
  Registry registry;
  const auto add = [&](std::string_view name, PluginFactory factory) {
    const auto added = registry.add(name, std::move(factory));
    BERTH_ASSERT(added.has_value(), "plugin is listed twice: " + std::string(name));
  };
  add(kSchedulingGates, plain(&make_scheduling_gates));
  add(kPrioritySort, plain(&make_priority_sort));
  add(kNodeUnschedulable, plain(&make_node_unschedulable));
  add(kNodeName, plain(&make_node_name));
  add(kTaintToleration, &taint_toleration);
  add(kNodeAffinity, with_args(&parse_node_affinity_args, &make_node_affinity));
  add(kNodePorts, plain(&make_node_ports));
  add(kNodeResourcesFit, with_args(&parse_fit_args, &make_node_resources_fit));
  add(kVolumeRestrictions, plain(&make_volume_restrictions));
  add(kNodeVolumeLimits, plain(&make_node_volume_limits));
  add(kVolumeBinding, with_checked_args(&parse_volume_binding_args, &make_volume_binding));
  add(kVolumeZone, plain(&make_volume_zone));
  add(kPodTopologySpread, with_args(&parse_pod_topology_spread_args, &make_pod_topology_spread));
  add(kInterPodAffinity, with_args(&parse_inter_pod_affinity_args, &make_inter_pod_affinity));
  add(kDynamicResources, with_checked_args(&parse_dynamic_resources_args, &make_dynamic_resources));
  add(kGpuTopology, with_args(&parse_gpu_topology_args, &make_gpu_topology));
  add(kGpuShare, with_args(&parse_gpu_share_args, &make_gpu_share));
  add(kGpuSlices, with_args(&parse_gpu_slices_args, &make_gpu_slices));
  add(kHami, with_args(&parse_hami_args, &make_hami));
  add(kRandomScore, with_args(&parse_random_score_args, &make_random_score));
  add(kBestFit, plain(&make_best_fit));
  add(kDotProduct, plain(&make_dot_product));
  add(kGpuPacking, plain(&make_gpu_packing));
  add(kGpuClustering, plain(&make_gpu_clustering));
  add(kBidPrice, with_args(&parse_target_args, &make_bid_price));
  add(kFgd, with_args(&parse_target_args, &make_fgd));
  add(kDefaultPreemption, with_args(&parse_default_preemption_args, &make_default_preemption));
  add(kBalancedAllocation, &balanced_allocation);
  add(kImageLocality, plain(&make_image_locality));
  add(kDefaultBinder, plain(&make_default_binder));
  // Those of scheduler-plugins; no profile has them by default.
  add(kCapacityScheduling, plain(&make_capacity_scheduling));
  add(kNodeResourcesAllocatable,
      with_args(&parse_allocatable_args, &make_node_resources_allocatable));
  add(kNodeResourceTopologyMatch,
      with_args(&parse_numa_match_args, &make_node_resource_topology_match));
  add(kTargetLoadPacking, with_args(&parse_target_load_packing_args, &make_target_load_packing));
  add(kLoadVariationRiskBalancing,
      with_args(&parse_load_variation_args, &make_load_variation_risk_balancing));
  add(kLowRiskOverCommitment, with_args(&parse_low_risk_args, &make_low_risk_over_commitment));
  return registry;
}

Profile default_profile(KubernetesVersion version) {
  constexpr KubernetesVersion kDynamicResourcesByDefault{.minor = 34};
  Profile profile{
      .scheduler_name = "default-scheduler", .kubernetes_version = version, .plugins = {}};
  const auto add = [&](std::string_view name, std::int64_t weight = 1) {
    profile.plugins.push_back({.name = std::string(name), .weight = weight, .args = nullptr});
  };
  add(kSchedulingGates);
  add(kPrioritySort);
  add(kNodeUnschedulable);
  add(kNodeName);
  add(kTaintToleration, 3);
  add(kNodeAffinity, 2);
  add(kNodePorts);
  add(kNodeResourcesFit);
  add(kVolumeRestrictions);
  add(kNodeVolumeLimits);
  add(kVolumeBinding);
  add(kVolumeZone);
  add(kPodTopologySpread, 2);
  add(kInterPodAffinity, 2);
  if (version >= kDynamicResourcesByDefault) {
    add(kDynamicResources, 2);
  }
  add(kDefaultPreemption);
  add(kBalancedAllocation);
  add(kImageLocality);
  add(kDefaultBinder);
  return profile;
}

} // namespace berth::sched
