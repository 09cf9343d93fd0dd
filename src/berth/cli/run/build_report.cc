#include "berth/cli/run/build_report.h"

#include <algorithm>
#include <set>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/cli/run/alone.h"
#include "berth/cli/run/gang_report.h"
#include "berth/cli/run/holdings.h"
#include "berth/cli/run/stuck.h"
#include "berth/hardware/bandwidth.h"
#include "berth/model/gpu_units.h"
#include "berth/model/node.h"
#include "berth/model/requests.h"
#include "berth/model/workload.h"
#include "berth/scheduler/scheduler.h"

namespace berth::cli {
namespace {

namespace json = boost::json;
using cluster::PodState;
using Walks = std::vector<std::shared_ptr<const cluster::PodWalk>>;

std::string phase_of(PodState state) {
  switch (state) {
  case PodState::Pending:
  case PodState::Gated:
  case PodState::Unschedulable:
  case PodState::Bound:
  case PodState::ContainerCreating:
    return "Pending";
  case PodState::Running:
    return "Running";
  case PodState::Succeeded:
    return "Succeeded";
  case PodState::Failed:
    return "Failed";
  case PodState::Deleted:
    return "Deleted";
  }
  return "";
}

report::ObjectName name_of(const api::Manifest& manifest) {
  const api::Object& object = manifest.object;
  const std::string name =
      object.meta().name.empty() ? object.meta().generate_name + "*" : object.meta().name;
  Where where = manifest.where;
  where.field.clear();
  where.column = 0;
  return {.api_version = object.gvk().api_version(),
          .kind = object.gvk().kind,
          .ns = object.meta().ns,
          .name = name,
          .source = where.file.empty() ? "" : to_string(where)};
}

hardware::GpuMask mask_of(const std::vector<int>& gpus) {
  hardware::GpuMask mask = 0;
  for (const int gpu : gpus) {
    mask |= gpu < model::kMaxGpus ? hardware::GpuMask{1} << gpu : 0;
  }
  return mask;
}

// Where time in a state is counted; nullptr for the states after running.
Duration* total_of(report::PodLine& line, PodState state) {
  switch (state) {
  case PodState::Pending:
  case PodState::Gated:
  case PodState::Unschedulable:
    return &line.waiting;
  case PodState::Bound:
  case PodState::ContainerCreating:
    return &line.starting;
  case PodState::Running:
    return &line.running;
  case PodState::Succeeded:
  case PodState::Failed:
  case PodState::Deleted:
    return nullptr;
  }
  return nullptr;
}

void add_holding(report::PodLine& line, const Holding& holding, const cluster::Cluster& cluster) {
  line.gpus = holding.gpus;
  for (const int gpu : holding.gpus) {
    line.gpu_uuids.push_back(hardware::gpu_uuid(holding.node, gpu));
  }
  const hardware::Platform* platform = cluster.platform_of(holding.node);
  if (platform != nullptr && holding.gpus.size() > 1) {
    line.all_reduce_mbps = hardware::all_reduce_mbps(*platform, mask_of(holding.gpus));
  }
}

// Instants are cut to the milliseconds they are shown in before they are subtracted, so that the
// times in the states add up to what lies between the shown instants.
void add_states(report::PodLine& line, const cluster::PodWalk& walk, const RunFacts& facts) {
  const auto shown = [&](TimePoint at) {
    return Duration::millis((std::max(at, facts.start) - facts.start).count_millis());
  };
  for (std::size_t i = 0; i < walk.history.size(); ++i) {
    const auto& [state, from] = walk.history[i];
    const TimePoint to = i + 1 < walk.history.size() ? walk.history[i + 1].second : facts.end;
    line.states.push_back({.state = std::string(to_string(state)), .at = shown(from)});
    if (Duration* total = total_of(line, state)) {
      *total += shown(to) - shown(from);
    }
  }
}

std::int64_t restarts_of(const api::Object& pod) {
  std::int64_t sum = 0;
  boost::system::error_code ignored; // a count that is no integer counts as none
  for (const char* list : {"status.initContainerStatuses", "status.containerStatuses"}) {
    const json::value* statuses = api::find_path(pod.json(), list);
    if (statuses == nullptr || !statuses->is_array()) {
      continue;
    }
    for (const json::value& status : statuses->as_array()) {
      const json::value* count = api::find(status, "restartCount");
      if (count != nullptr && count->is_number()) {
        sum += count->to_number<std::int64_t>(ignored);
      }
    }
  }
  return sum;
}

bool is_terminating(const cluster::PodWalk& walk) {
  return walk.last.meta().deletion_timestamp && walk.state != PodState::Deleted &&
         walk.state != PodState::Succeeded && walk.state != PodState::Failed;
}

report::PodLine pod_line(const cluster::PodWalk& walk, const model::Pod& pod,
                         const RunFacts& facts) {
  report::PodLine line;
  line.ns = walk.key.ns;
  line.name = walk.key.name;
  line.phase = phase_of(walk.state);
  line.reason = pod.status.reason;
  line.terminating = is_terminating(walk);
  if (const api::OwnerReference* owner = pod.meta.controller()) {
    line.owner = fmt::format("{}/{}", owner->kind, owner->name);
  }
  line.gang = pod.pod_group();
  line.node = pod.spec.node_name;
  line.gpu_request = model::gpu_request(pod.spec);
  add_states(line, walk, facts);
  line.restarts = restarts_of(walk.last);
  for (const runtime::ContainerFacts& container : facts.observer->containers(walk.key)) {
    line.containers.push_back(container_document(container));
  }
  return line;
}

report::JobLine job_line(const model::Job& job, TimePoint end) {
  report::JobLine line{.ns = job.meta.ns,
                       .name = job.meta.name,
                       .status = "Running",
                       .succeeded = job.status.succeeded,
                       .failed = job.status.failed,
                       .wanted = job.completions.value_or(job.parallelism),
                       .duration = {},
                       .message = ""};
  if (job.status.start_time) {
    line.duration =
        std::max(Duration(), job.status.completion_time.value_or(end) - *job.status.start_time);
  }
  if (job.suspend) {
    line.status = "Suspended";
  } else if (job.status.active == 0 && !job.finished()) {
    line.status = "Waiting";
  }
  for (const model::Condition& condition : job.status.conditions) {
    if (condition.status == "True" &&
        (condition.type == "Complete" || condition.type == "Failed")) {
      line.status = condition.type;
      line.message = condition.message;
      if (condition.type == "Failed" && condition.last_transition_time && job.status.start_time) {
        line.duration =
            std::max(Duration(), *condition.last_transition_time - *job.status.start_time);
      }
    }
  }
  return line;
}

std::vector<report::NodeLine> node_lines(const RunFacts& facts) {
  std::vector<report::NodeLine> out;
  for (const auto& [name, history] : facts.observer->nodes()) {
    const NodeChange& last = history.changes.back();
    const auto labels = history.last.meta().labels;
    const auto product = labels.find("nvidia.com/gpu.product");
    const hardware::Platform* platform = facts.cluster->platform_of(name);
    report::NodeLine line{.name = name,
                          .platform = platform == nullptr ? "" : platform->name,
                          .product = product == labels.end() ? "" : product->second,
                          .ready = last.present && last.ready,
                          .gpus = gpu_capacity(history.last),
                          .unhealthy = {},
                          .gpu_uuids = {}};
    for (int gpu = 0; gpu < line.gpus; ++gpu) {
      line.gpu_uuids.push_back(hardware::gpu_uuid(name, gpu));
      if (gpu < model::kMaxGpus && (last.unhealthy >> gpu & 1U) != 0) {
        line.unhealthy.push_back(gpu);
      }
    }
    out.push_back(std::move(line));
  }
  std::ranges::sort(out, natural_less, &report::NodeLine::name);
  return out;
}

// Room at the end of the run.
std::vector<NodeRoom> rooms(const RunFacts& facts, const report::GpuMap& at_end) {
  std::vector<NodeRoom> out;
  for (const auto& [name, history] : facts.observer->nodes()) {
    const auto node = model::node_view(history.last);
    if (!node || !history.changes.back().present) {
      continue;
    }
    NodeRoom room{.name = name,
                  .allocatable = (*node)->allocatable,
                  .ready = history.changes.back().ready,
                  .gpus_free = 0};
    const bool open = room.ready && !(*node)->unschedulable;
    const auto row = std::ranges::find(at_end.nodes, name, &report::NodeMap::node);
    if (open && row != at_end.nodes.end()) {
      room.gpus_free =
          std::ranges::count(row->gpus, report::GpuCell::State::Free, &report::GpuCell::state);
    }
    out.push_back(std::move(room));
  }
  return out;
}

bool is_stuck(PodState state) {
  return state != PodState::Running && state != PodState::Succeeded && state != PodState::Deleted;
}

// Whether the scheduler itself refuses the pod, so that an empty cluster has an answer.
bool waits_for_scheduler(const cluster::PodWalk& walk) {
  return walk.state == PodState::Unschedulable || walk.state == PodState::Pending;
}

std::vector<report::StuckPod> stuck_pods(const RunFacts& facts, const Walks& walks,
                                         const report::GpuMap& at_end) {
  Walks asked;
  std::ranges::copy_if(walks, std::back_inserter(asked),
                       [](const auto& walk) { return waits_for_scheduler(*walk); });
  const auto alone =
      ask_alone({.spec = facts.spec, .options = facts.options->cluster, .objects = facts.objects},
                asked, walks);
  const std::vector<NodeRoom> nodes = rooms(facts, at_end);
  std::vector<report::StuckPod> out;
  for (const auto& walk : walks) {
    const auto pod = model::pod_view(walk->last);
    if ((!is_stuck(walk->state) && !is_terminating(*walk)) || !pod) {
      continue;
    }
    const auto answer = alone.find(walk->key.to_string());
    report::StuckPod stuck =
        explain_stuck(**pod, *walk, answer == alone.end() ? AloneAnswer() : answer->second, nodes,
                      facts.cluster->scheduler().schedules((*pod)->spec.scheduler_name)
                          ? SchedulerOfPod::Here
                          : SchedulerOfPod::Elsewhere);
    if (stuck.code == "OTHER_SCHEDULER" || stuck.code == "GANG_INCOMPLETE") {
      stuck.alone = report::Alone::Unknown;
    }
    if (walk->state == PodState::Bound || walk->state == PodState::ContainerCreating) {
      stuck.alone = stuck.code == "NODE_UNKNOWN" ? report::Alone::Unknown : report::Alone::Runs;
    }
    stuck.waiting = facts.end - walk->history.front().second;
    out.push_back(std::move(stuck));
  }
  return out;
}

void add_objects(report::RunReport& report, const RunFacts& facts) {
  for (const cluster::Applied& applied : *facts.applied) {
    report::ObjectName name = name_of(applied.manifest);
    if (applied.result) {
      report.applied.push_back(std::move(name));
    } else {
      report.rejected.push_back({.object = std::move(name),
                                 .code = std::string(to_string(applied.result.error().code)),
                                 .message = to_string(applied.result.error())});
    }
  }
}

void add_pods(report::RunReport& report, const RunFacts& facts,
              const std::vector<Holding>& holdings) {
  std::map<const cluster::PodWalk*, const Holding*> held;
  for (const Holding& holding : holdings) {
    held.emplace(holding.walk.get(), &holding);
  }
  for (const auto& [from, to] : spans_held(holdings)) {
    report.gpu_millis_held += (std::min(to, facts.end) - from).count_millis();
  }
  for (const auto& walk : facts.observer->record().pods()) {
    const auto pod = model::pod_view(walk->last);
    if (!pod) {
      continue;
    }
    report::PodLine line = pod_line(*walk, **pod, facts);
    if (const auto it = held.find(walk.get()); it != held.end()) {
      add_holding(line, *it->second, *facts.cluster);
    }
    report.pods.push_back(std::move(line));
  }
}

} // namespace

boost::json::value container_document(const runtime::ContainerFacts& facts) {
  json::array env;
  for (const auto& [name, value] : facts.env) {
    env.push_back(json::object{{"name", name}, {"value", value}});
  }
  json::array devices;
  for (const runtime::DeviceNode& device : facts.devices) {
    devices.push_back(json::object{{"path", device.path},
                                   {"type", std::string(1, device.type)},
                                   {"major", device.major},
                                   {"minor", device.minor},
                                   {"permissions", device.permissions}});
  }
  json::array mounts;
  for (const runtime::MountPoint& mount : facts.mounts) {
    json::array options;
    for (const std::string& option : mount.options) {
      options.emplace_back(option);
    }
    mounts.push_back(json::object{{"source", mount.source},
                                  {"destination", mount.destination},
                                  {"options", std::move(options)}});
  }
  json::array cdi;
  for (const std::string& device : facts.cdi_devices) {
    cdi.emplace_back(device);
  }
  return json::object{{"name", facts.container},
                      {"env", std::move(env)},
                      {"devices", std::move(devices)},
                      {"mounts", std::move(mounts)},
                      {"cdiDevices", std::move(cdi)}};
}

namespace {

report::ProfileLine profile_line(const sched::Profile& profile) {
  return {.scheduler_name = profile.scheduler_name,
          .other_names = profile.other_names,
          .kubernetes_version = fmt::format("1.{}", profile.kubernetes_version.minor)};
}

std::vector<report::ProfileLine> profile_lines(const RunOptions& options) {
  if (options.cluster.scheduler == nullptr) {
    return {profile_line(scheduler::berth_profile())};
  }
  std::vector<report::ProfileLine> lines;
  std::ranges::transform(options.cluster.scheduler->profiles, std::back_inserter(lines),
                         &profile_line);
  return lines;
}

} // namespace

report::ClusterLine cluster_line(const cluster::ClusterSpec& spec, const RunOptions& options) {
  report::ClusterLine line;
  line.nodes = spec.node_count();
  line.seed = options.cluster.seed;
  line.gpu_policy = to_string(options.cluster.gpu_policy);
  line.scheduler_config = options.scheduler_config;
  line.profiles = profile_lines(options);
  line.speed = options.speed == Speed::Real ? "real" : "virtual";
  const auto add = [&](const std::string& platform, int nodes, int gpus) {
    const auto it =
        std::ranges::find(line.platforms, platform, &std::pair<std::string, int>::first);
    if (it == line.platforms.end()) {
      line.platforms.emplace_back(platform, nodes);
    } else {
      it->second += nodes;
    }
    line.gpus += gpus;
  };
  for (const cluster::NodeGroup& group : spec.groups) {
    const hardware::Platform* platform = spec.catalogue.find(group.platform);
    add(group.platform, group.count,
        platform == nullptr ? 0 : group.count * static_cast<int>(platform->gpus.size()));
  }
  for (const api::Manifest& manifest : spec.nodes) {
    const auto node = model::node_view(manifest.object);
    const hardware::Platform* platform = node ? spec.catalogue.of_node(**node) : nullptr;
    add(platform == nullptr ? "" : platform->name, 1, gpu_capacity(manifest.object));
  }
  return line;
}

std::vector<report::UnhandledKind> unhandled_kinds(const std::vector<api::Manifest>& objects) {
  std::map<std::pair<std::string, std::string>, report::UnhandledKind> kinds;
  for (const api::Manifest& manifest : objects) {
    const api::GroupVersionKind& gvk = manifest.object.gvk();
    if (cluster::Cluster::acts_on(gvk)) {
      continue;
    }
    report::UnhandledKind& kind = kinds[{gvk.api_version(), gvk.kind}];
    kind.api_version = gvk.api_version();
    kind.kind = gvk.kind;
    const report::ObjectName name = name_of(manifest);
    kind.objects.push_back(name.ns.empty() ? name.name : fmt::format("{}/{}", name.ns, name.name));
  }
  std::vector<report::UnhandledKind> out;
  for (auto& [key, kind] : kinds) {
    out.push_back(std::move(kind));
  }
  return out;
}

int exit_code_of(const report::RunReport& report, bool with_exit_code) {
  using report::Alone;
  std::set<std::string> done; // pods that failed on the way to a Job's completion are no failure
  for (const report::JobLine& job : report.jobs) {
    if (job.status == "Failed") {
      return kFailed;
    }
    if (job.status == "Complete") {
      done.insert(fmt::format("{}/Job/{}", job.ns, job.name));
    }
  }
  if (!report.rejected.empty() || report.outcome == report::Outcome::Interrupted) {
    return kFailed;
  }
  bool never = false;
  for (const report::StuckPod& pod : report.stuck) {
    if (pod.code == "TERMINATING") {
      continue; // it is to go, not to run
    }
    if (pod.phase == "Failed") {
      const auto line = std::ranges::find_if(report.pods, [&](const report::PodLine& p) {
        return p.ns == pod.ns && p.name == pod.name;
      });
      if (line == report.pods.end() ||
          !done.contains(fmt::format("{}/{}", line->ns, line->owner))) {
        return kFailed;
      }
    } else if (pod.alone == Alone::Runs || pod.code == "SCHEDULER_ERROR") {
      return kFailed;
    } else {
      never = true;
    }
  }
  return never && with_exit_code ? kDoesNotFit : kDone;
}

report::RunReport build_report(const RunFacts& facts) {
  report::RunReport report;
  report.cluster = cluster_line(*facts.spec, *facts.options);
  report.start = facts.start;
  report.elapsed = facts.end - facts.start;
  report.outcome = facts.outcome;
  add_objects(report, facts);
  report.unhandled = unhandled_kinds(*facts.objects);
  report.notes = *facts.notes;
  const std::vector<Holding> holdings = holdings_of(*facts.observer, facts.end);
  add_pods(report, facts, holdings);
  for (const auto& [uid, object] : facts.observer->jobs()) {
    if (const auto job = model::job_view(object)) {
      report.jobs.push_back(job_line(**job, facts.end));
    }
  }
  std::ranges::sort(report.jobs, {},
                    [](const report::JobLine& j) { return std::pair(j.ns, j.name); });
  report.gangs = gang_lines(*facts.observer, holdings, *facts.cluster, facts.end);
  report.nodes = node_lines(facts);
  report.busiest = map_at(busiest_moment(holdings, facts.end), facts.start, holdings,
                          *facts.observer, *facts.cluster);
  report.at_end = map_at(facts.end, facts.start, holdings, *facts.observer, *facts.cluster);
  report.stuck = stuck_pods(facts, facts.observer->record().pods(), report.at_end);
  for (const cluster::Mark& mark : facts.observer->record().marks()) {
    report.timeline.push_back({.at = mark.at - facts.start,
                               .object = mark.object,
                               .what = mark.what,
                               .detail = mark.detail,
                               .warning = mark.warning});
  }
  return report;
}

} // namespace berth::cli
