#include "berth/scheduler/scheduler.h"

#include "berth/scheduler/process.h"

namespace berth::scheduler {

sched::Profile berth_profile(std::string_view gpu_policy) {
  sched::Profile profile = sched::default_profile();
  // Gang sorts the queue, so it comes before PrioritySort; its checks are cheap, so it comes before
  // all others too.
  profile.plugins.insert(
      profile.plugins.begin(),
      sched::ProfilePlugin{.name = std::string(gang::kGangPlugin), .weight = 1, .args = {}});
  profile.plugins.push_back(sched::ProfilePlugin{
      .name = "GpuTopology", .weight = 1, .args = api::json::object{{"policy", gpu_policy}}});
  return profile;
}

Result<std::unique_ptr<Scheduler>> Scheduler::start(client::Client& client, Loop& loop, Rng rng,
                                                    SchedulerOptions options) {
  auto groups = std::make_shared<gang::Groups>();
  sched::Registry registry = sched::builtin_plugins();
  BERTH_CHECK(registry.add(gang::kGangPlugin, gang::gang_plugin(groups)));
  BERTH_TRY(sched::Framework framework, sched::Framework::make(options.profile, registry));
  auto process = std::make_shared<Process>(client, loop, std::move(rng), std::move(options),
                                           std::move(framework), groups);
  process->watch();
  return std::make_unique<Scheduler>(std::move(process));
}

Scheduler::Scheduler(std::shared_ptr<Process> process) : process_(std::move(process)) {}

Scheduler::~Scheduler() {
  process_->stop();
}

bool Scheduler::idle() const {
  return process_->idle();
}
bool Scheduler::synced() const {
  return process_->synced();
}
SchedulerStats Scheduler::stats() const {
  return process_->stats();
}
sched::Queue::Depth Scheduler::depth() const {
  return process_->queue().depth();
}
const sched::ClusterState& Scheduler::state() const {
  return process_->state();
}
bool Scheduler::schedules(std::string_view scheduler_name) const {
  return process_->ours(scheduler_name);
}

} // namespace berth::scheduler
