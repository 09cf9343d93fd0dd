#include "berth/sim/invariants.h"

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "berth/base/assert.h"
#include "berth/cluster/fleet.h"
#include "berth/gang/gang_plugin.h"
#include "berth/hardware/choose.h"
#include "berth/model/gpu_share.h"
#include "berth/model/hami.h"
#include "berth/model/requests.h"
#include "berth/model/workload.h"
#include "berth/sched/cycle.h"
#include "berth/sched/gpu_parts.h"
#include "berth/scheduler/scheduler.h"
#include "berth/store/registry.h"

namespace berth::sim {
namespace {

using PodView = std::shared_ptr<const model::Pod>;

template <class View>
auto list_views(const store::Registry& registry, const client::GroupKind& kind, View view) {
  std::vector<typename decltype(view(api::Object()))::value_type> found;
  for (const api::Object& object : registry.list({.kind = kind}).items) {
    if (auto decoded = view(object)) {
      found.push_back(*std::move(decoded));
    }
  }
  return found;
}

std::vector<PodView> live_pods(const store::Registry& registry) {
  auto pods = list_views(registry, client::kPods, &model::pod_view);
  std::erase_if(pods, [](const PodView& pod) { return pod->terminal(); });
  return pods;
}

} // namespace

std::vector<std::string> Invariants::broken() {
  const std::uint64_t changes = cluster_.changes();
  if (changes == checked_) {
    return {}; // the event left no trace to look at
  }
  checked_ = changes;
  std::vector<std::string> found = cluster_.fleet().broken_invariants();
  gpus_.check(live_pods(cluster_.registry()), found);
  check_nodes(found);
  check_gangs(found);
  check_jobs(found);
  return found;
}

void Invariants::check_nodes(std::vector<std::string>& broken) const {
  struct Load {
    hardware::GpuMask promised = 0;
    std::map<int, std::int64_t> milli; // of parts that are promised, by GPU
    std::int64_t gpus = 0;
    std::int64_t cpu_milli = 0;
  };
  std::map<std::string, Load> loads;
  for (const PodView& pod : live_pods(cluster_.registry())) {
    const std::string& node = pod->spec.node_name;
    if (node.empty()) {
      continue;
    }
    Load& load = loads[node];
    const model::ResourceList requests = model::effective_requests(pod->spec);
    if (const auto cpu = requests.find("cpu"); cpu != requests.end()) {
      load.cpu_milli += cpu->second.milli_value();
    }
    const bool vgpus = pod->meta.annotations.contains(model::hami::kAllocated);
    load.gpus += vgpus ? 0 : model::gpu_request(pod->spec);
    const auto indices = pod->meta.annotations.find(model::kGpuIndicesAnnotation);
    const auto mask = indices == pod->meta.annotations.end()
                          ? 0
                          : hardware::parse_gpu_indices(indices->second).value_or(0);
    if ((load.promised & mask) != 0) {
      broken.push_back(fmt::format("{}: GPUs {} are promised to {} and to another pod", node,
                                   hardware::format_gpu_indices(load.promised & mask),
                                   pod->key().to_string()));
    }
    load.promised |= mask;
    const auto share = model::gpu_share_of(*pod, requests);
    for (const int gpu : share ? share->indices : std::vector<int>()) {
      load.milli[gpu] += share->milli;
    }
  }
  for (auto& [node, load] : loads) {
    for (const auto& [gpu, milli] : load.milli) {
      const bool whole = ((load.promised >> gpu) & 1U) != 0;
      if (milli > sched::kWholeGpuMilli || whole) {
        broken.push_back(fmt::format("{}: {} thousandths of GPU {} are promised{}", node, milli,
                                     gpu, whole ? ", and all of it to another pod" : ""));
      }
    }
    const hardware::Platform* platform = cluster_.platform_of(node);
    if (platform == nullptr) {
      continue;
    }
    const auto object = cluster_.registry().get(store::kNodes, {"", node});
    const auto view = object ? model::node_view(*object) : tl::unexpected(object.error());
    if (view && model::hami::shares_gpus(**view)) {
      load.gpus = 0; // vGPUs, of which a pod that no profile for them placed is refused
    }
    if (load.gpus > static_cast<std::int64_t>(platform->gpus.size()) ||
        load.cpu_milli > platform->cpus * 1000LL) {
      broken.push_back(fmt::format("{}: bound pods ask for {} GPUs and {}m cpu, more than it has",
                                   node, load.gpus, load.cpu_milli));
    }
  }
}

void Invariants::check_gangs(std::vector<std::string>& broken) {
  std::map<api::Key, std::int64_t> placed;
  std::map<api::Key, std::int64_t> bound;
  const sched::ClusterState& state = cluster_.scheduler().state();
  for (const PodView& pod : list_views(cluster_.registry(), client::kPods, &model::pod_view)) {
    const api::Key group{.ns = pod->meta.ns, .name = std::string(pod->pod_group())};
    if (group.name.empty()) {
      continue;
    }
    const bool has_node = !pod->spec.node_name.empty();
    bound[group] += has_node && !pod->terminal() ? 1 : 0;
    placed[group] += has_node || state.find_pod(pod->meta.uid) != nullptr ? 1 : 0;
  }
  for (const auto& group :
       list_views(cluster_.registry(), client::kPodGroups, &model::pod_group_view)) {
    const api::Key key{.ns = group->meta.ns, .name = group->meta.name};
    if (placed[key] >= group->min_member) {
      quorate_.insert(key);
    }
    if (bound[key] > 0 && !quorate_.contains(key)) {
      broken.push_back(fmt::format("gang {}: {} members are bound, {} placed, {} needed",
                                   key.to_string(), bound[key], placed[key], group->min_member));
    }
  }
}

void Invariants::check_jobs(std::vector<std::string>& broken) const {
  std::map<std::string, std::int64_t> active; // by job uid
  for (const PodView& pod : live_pods(cluster_.registry())) {
    const api::OwnerReference* owner = pod->meta.controller();
    if (owner != nullptr && owner->kind == "Job" && !pod->meta.deletion_timestamp) {
      ++active[owner->uid];
    }
  }
  for (const auto& job : list_views(cluster_.registry(), client::kJobs, &model::job_view)) {
    if (active[job->meta.uid] > job->parallelism) {
      broken.push_back(fmt::format("job {}: {} active pods, parallelism {}", job->meta.name,
                                   active[job->meta.uid], job->parallelism));
    }
  }
}

std::vector<std::string> Invariants::broken_when_quiet() {
  std::vector<std::string> broken;
  sched::ClusterState state = cluster_.scheduler().state();
  gpus_.check_when_quiet(live_pods(cluster_.registry()), broken);
  std::vector<sched::Framework> frameworks;
  for (sched::Profile profile : profiles_) {
    std::erase_if(profile.plugins, [](const auto& each) { return each.name == gang::kGangPlugin; });
    auto framework = sched::Framework::make(profile, sched::builtin_plugins());
    BERTH_ASSERT(framework.has_value(), to_string(framework.error()));
    frameworks.push_back(*std::move(framework));
  }
  for (const PodView& pod : live_pods(cluster_.registry())) {
    const std::string name = pod->key().to_string();
    if (pod->meta.deletion_timestamp) {
      broken.push_back(fmt::format("pod {} is still being deleted", name));
    } else if (!pod->spec.node_name.empty()) {
      if (pod->status.phase != "Running") {
        broken.push_back(fmt::format("pod {} is bound to {} and {}", name, pod->spec.node_name,
                                     pod->status.phase));
      }
    } else {
      const model::Condition* scheduled = pod->status.condition("PodScheduled");
      if (scheduled == nullptr || scheduled->status != "False" || scheduled->message.empty()) {
        broken.push_back(fmt::format("pod {} is pending without a reason", name));
      }
      // A gang's members need their siblings; alone they prove nothing.
      const auto framework = std::ranges::find_if(
          frameworks, [&](const auto& each) { return each.is_for(pod->spec.scheduler_name); });
      if (pod->pod_group().empty() && framework != frameworks.end() &&
          sched::schedule_one(*framework, state, state.describe(pod),
                              {.post_filter = sched::PostFilters::Skip})
              .placed()) {
        broken.push_back(fmt::format("pod {} is pending although it fits: {}", name,
                                     scheduled == nullptr ? "" : scheduled->message));
      }
    }
  }
  return broken;
}

std::vector<std::string> Invariants::broken_when_empty() {
  std::vector<std::string> broken;
  for (const api::Object& pod : cluster_.registry().list({.kind = client::kPods}).items) {
    broken.push_back(fmt::format("pod {} is still there", pod.key().to_string()));
  }
  for (const std::string& name : cluster_.fleet().names()) {
    const node::SimulatedMachine* machine = cluster_.fleet().find(name);
    if (machine->agent() != nullptr && !machine->agent()->devices().empty()) {
      broken.push_back(fmt::format("{}: devices are still held by {}", name,
                                   machine->agent()->devices().pods().front()));
    }
    if (!machine->runtime().running().empty()) {
      broken.push_back(fmt::format("{}: container {} still runs", name,
                                   machine->runtime().running().front().id));
    }
  }
  if (const std::size_t placed = cluster_.scheduler().state().pod_count(); placed > 0) {
    broken.push_back(fmt::format("the scheduler still counts {} placed pods", placed));
  }
  return broken;
}

} // namespace berth::sim
