#include "berth/scheduler/scheduler.h"

#include <algorithm>

#include <fmt/format.h>

#include "berth/gang/gang_preemption.h"
#include "berth/scheduler/process.h"

namespace berth::scheduler {

sched::Profile berth_profile(std::string_view gpu_policy, sched::KubernetesVersion version) {
  sched::Profile profile = sched::default_profile(version);
  profile.other_names = {"berth-scheduler", "scheduler-plugins-scheduler"};
  // Gang sorts the queue, so it comes before PrioritySort; its checks are cheap, so it comes before
  // all others too.
  profile.plugins.insert(
      profile.plugins.begin(),
      sched::ProfilePlugin{.name = std::string(gang::kGangPlugin), .weight = 1, .args = {}});
  profile.plugins.push_back(sched::ProfilePlugin{
      .name = "GpuTopology", .weight = 1, .args = api::json::object{{"policy", gpu_policy}}});
  profile.plugins.push_back({.name = "GpuShare", .weight = 1, .args = {}});
  profile.plugins.push_back({.name = "GpuSlices", .weight = 1, .args = {}});
  return profile;
}

namespace {

Result<void> check_agreement(const std::vector<sched::Profile>& profiles,
                             const std::vector<sched::Framework>& frameworks) {
  if (frameworks.empty()) {
    return fail(Code::Invalid, "a scheduler needs a profile");
  }
  for (std::size_t i = 0; i < frameworks.size(); ++i) {
    std::vector<std::string> names = profiles[i].other_names;
    names.push_back(profiles[i].scheduler_name);
    for (const std::string& name : names) {
      if (std::any_of(frameworks.begin(), frameworks.begin() + static_cast<std::ptrdiff_t>(i),
                      [&](const sched::Framework& other) { return other.is_for(name); })) {
        return fail(Code::Invalid, fmt::format("two profiles are for pods of one name: {}", name));
      }
    }
    const std::string_view sort = frameworks[i].queue_sort().name();
    if (sort != frameworks.front().queue_sort().name()) {
      return fail(
          Code::Invalid,
          fmt::format("profiles \"{}\" and \"{}\" sort one queue by different plugins: {}, {}",
                      frameworks.front().scheduler_name(), frameworks[i].scheduler_name(),
                      frameworks.front().queue_sort().name(), sort));
    }
  }
  return {};
}

} // namespace

Result<std::unique_ptr<Scheduler>> Scheduler::start(client::Client& client, Loop& loop, Rng rng,
                                                    SchedulerOptions options) {
  auto groups = std::make_shared<gang::Groups>();
  sched::Registry registry = sched::builtin_plugins();
  BERTH_CHECK(registry.add(gang::kGangPlugin, gang::gang_plugin(groups)));
  BERTH_CHECK(registry.add(gang::kGangPreemption, gang::gang_preemption_plugin(groups)));
  std::vector<sched::Framework> frameworks;
  for (const sched::Profile& profile : options.profiles) {
    BERTH_TRY(sched::Framework framework, sched::Framework::make(profile, registry));
    frameworks.push_back(std::move(framework));
  }
  BERTH_CHECK(check_agreement(options.profiles, frameworks));
  if (!options.extenders.empty() && !options.poster) {
    return fail(Code::Invalid, "a scheduler with extenders needs a way to reach them");
  }
  auto process = std::make_shared<Process>(client, loop, std::move(rng), std::move(options),
                                           std::move(frameworks), groups);
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
void Scheduler::on_sync(Task task) {
  process_->on_sync(std::move(task));
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
const explain::Book& Scheduler::decisions() const {
  return process_->book();
}
void Scheduler::keep_decisions_of(explain::Wanted wanted) {
  process_->book().want(std::move(wanted));
}
std::string Scheduler::metrics() const {
  return process_->metrics_text();
}
bool Scheduler::schedules(std::string_view scheduler_name) const {
  return process_->ours(scheduler_name);
}

} // namespace berth::scheduler
