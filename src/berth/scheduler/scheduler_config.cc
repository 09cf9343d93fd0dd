#include "berth/scheduler/scheduler_config.h"

#include <memory>
#include <string>

#include "berth/gang/gang_plugin.h"
#include "berth/gang/gang_preemption.h"

namespace berth::scheduler {

namespace {

Result<sched::ConfigContext> context_for(std::string_view gpu_policy) {
  sched::ConfigContext context{
      .registry = sched::builtin_plugins(),
      .defaults = [policy = std::string(gpu_policy)](
                      sched::KubernetesVersion version) { return berth_profile(policy, version); },
      .other_names = {{std::string(gang::kCoscheduling), std::string(gang::kGangPlugin)},
                      {"Open-Gpu-Share", "GpuShare"},
                      {"RandomScore", "Random"},
                      {"BestFitScore", "BestFit"},
                      {"DotProductScore", "DotProduct"},
                      {"GpuPackingScore", "GpuPacking"},
                      {"GpuClusteringScore", "GpuClustering"},
                      {"FGDScore", "FGD"}}};
  BERTH_CHECK(context.registry.add(gang::kGangPlugin,
                                   gang::gang_plugin(std::make_shared<const gang::Groups>())));
  BERTH_CHECK(context.registry.add(
      gang::kGangPreemption, gang::gang_preemption_plugin(std::make_shared<const gang::Groups>())));
  return context;
}

} // namespace

Result<sched::SchedulerConfig> read_config(std::string_view text, std::string_view file,
                                           std::string_view gpu_policy) {
  BERTH_TRY(const sched::ConfigContext context, context_for(gpu_policy));
  return sched::read_scheduler_config(text, file, context);
}

Result<sched::SchedulerConfig> read_process_config(std::string_view text, std::string_view file,
                                                   std::string_view gpu_policy) {
  BERTH_TRY(sched::ConfigContext context, context_for(gpu_policy));
  context.own_process = true;
  return sched::read_scheduler_config(text, file, context);
}

SchedulerOptions options_of(const sched::SchedulerConfig& config) {
  return {.profiles = config.profiles, .queue = config.queue, .extenders = config.extenders};
}

} // namespace berth::scheduler
