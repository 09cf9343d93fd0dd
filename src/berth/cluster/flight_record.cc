#include "berth/cluster/flight_record.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <vector>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/base/ranges.h"
#include "berth/client/informer.h"
#include "berth/hardware/gpu_mask.h"
#include "berth/model/node.h"
#include "berth/model/workload.h"

namespace berth::cluster {
namespace {

constexpr std::string_view kStateNames[] = {
    "Pending", "Gated",     "Unschedulable", "Bound",  "ContainerCreating",
    "Running", "Succeeded", "Failed",        "Deleted"};

/// Events that say what a state mark already says.
constexpr std::array<std::string_view, 10> kSaidByState = {"Scheduled",
                                                           "FailedScheduling",
                                                           "Started",
                                                           "Created",
                                                           "Pulled",
                                                           "Killing",
                                                           "Completed",
                                                           "SandboxCreated",
                                                           "TaintManagerEvictionCancelled",
                                                           "BackoffLimitExceeded"};

PodState state_of(const model::Pod& pod) {
  const std::string& phase = pod.status.phase;
  if (phase == "Succeeded") {
    return PodState::Succeeded;
  }
  if (phase == "Failed") {
    return PodState::Failed;
  }
  if (phase == "Running") {
    return PodState::Running;
  }
  if (!pod.spec.node_name.empty()) {
    return pod.status.start_time ? PodState::ContainerCreating : PodState::Bound;
  }
  if (!pod.spec.scheduling_gates.empty()) {
    return PodState::Gated;
  }
  // What the gates left behind when they opened says nothing of the scheduler.
  const model::Condition* scheduled = pod.status.condition("PodScheduled");
  const bool refused = scheduled != nullptr && scheduled->status == "False" &&
                       scheduled->reason != "SchedulingGated";
  return refused ? PodState::Unschedulable : PodState::Pending;
}

// "GPU 2", "GPUs 0-1,4"; the annotation as it is if it is no list of indices.
std::string gpus_text(std::string_view annotation) {
  const auto mask = hardware::parse_gpu_indices(annotation);
  if (!mask) {
    return fmt::format("GPUs {}", annotation);
  }
  std::vector<int> gpus;
  for (hardware::GpuMask rest = *mask; rest != 0; rest &= rest - 1) {
    gpus.push_back(std::countr_zero(rest));
  }
  return fmt::format("GPU{} {}", gpus.size() == 1 ? "" : "s", format_ranges(gpus));
}

// creationTimestamp has whole seconds. A pod seen within that second was created just now; with one
// seen later, the timestamp is all there is.
TimePoint creation_instant(const api::Object& object, TimePoint now) {
  const TimePoint stamped = object.meta().creation_timestamp.value_or(now);
  return now - stamped < Duration::seconds(1) ? now : stamped;
}

std::string detail_of(PodState state, const model::Pod& pod) {
  switch (state) {
  case PodState::Unschedulable: {
    const model::Condition* scheduled = pod.status.condition("PodScheduled");
    return scheduled == nullptr ? "" : scheduled->message;
  }
  case PodState::Bound: {
    const auto gpus = pod.meta.annotations.find(model::kGpuIndicesAnnotation);
    return gpus == pod.meta.annotations.end() || gpus->second.empty()
               ? pod.spec.node_name
               : fmt::format("{} {}", pod.spec.node_name, gpus_text(gpus->second));
  }
  case PodState::Failed:
    return pod.status.message.empty()
               ? pod.status.reason
               : fmt::format("{}: {}", pod.status.reason, pod.status.message);
  case PodState::Gated:
    return fmt::format("waiting for scheduling gates: {}", pod.spec.scheduling_gates.front());
  case PodState::Pending:
  case PodState::ContainerCreating:
  case PodState::Running:
  case PodState::Succeeded:
  case PodState::Deleted:
    return "";
  }
  return "";
}

std::string name_of(std::string_view kind, const api::Object& object) {
  return fmt::format("{}/{}", kind, object.key().to_string());
}

} // namespace

std::string_view to_string(PodState state) {
  return kStateNames[static_cast<std::size_t>(state)];
}

Duration PodWalk::time_in(PodState wanted, TimePoint now) const {
  Duration total;
  for (std::size_t i = 0; i < history.size(); ++i) {
    if (history[i].first != wanted) {
      continue;
    }
    const TimePoint end = i + 1 < history.size() ? history[i + 1].second : now;
    total += end - history[i].second;
  }
  return total;
}

struct FlightRecord::State {
  using Informers = std::vector<std::unique_ptr<client::Informer>>;

  State(client::Client& client, Loop& on_loop, std::function<void(const Mark&)> on_mark)
      : loop(on_loop), notify(std::move(on_mark)), last_progress(on_loop.now()) {
    watch(client, client::kPods, [this](const auto& old, const auto& now) { on_pod(old, now); });
    watch(client, client::kNodes, [this](const auto& old, const auto& now) { on_node(old, now); });
    watch(client, client::kJobs, [this](const auto& old, const auto& now) { on_job(old, now); });
    watch(client, client::kPodGroups,
          [this](const auto& old, const auto& now) { on_group(old, now); });
    watch(client, client::kEvents,
          [this](const auto& old, const auto& now) { on_event(old, now); });
  }

  void watch(client::Client& client, const client::GroupKind& kind,
             client::Informer::OnChange on_change) {
    informers.push_back(std::make_unique<client::Informer>(
        client, loop, client::ListOptions{.kind = kind, .ns = "", .labels = {}, .node = {}},
        std::move(on_change)));
  }

  void mark(std::string object, std::string_view what, std::string detail, bool warning) {
    marks.push_back(Mark{.at = loop.now(),
                         .object = std::move(object),
                         .what = std::string(what),
                         .detail = std::move(detail),
                         .warning = warning});
    if (notify) {
      notify(marks.back());
    }
  }

  void progress(std::string object, std::string_view what, std::string detail,
                bool warning = false) {
    last_progress = loop.now();
    mark(std::move(object), what, std::move(detail), warning);
  }

  void on_pod(const api::Object& old, const api::Object& now) {
    const api::Object& object = now ? now : old;
    auto& walk = walks[object.meta().uid];
    if (!walk) {
      walk = std::make_shared<PodWalk>(
          PodWalk{.key = object.key(), .state = PodState::Pending, .history = {}, .last = {}});
      order.push_back(walk);
      walk->history.emplace_back(PodState::Pending, creation_instant(object, loop.now()));
      progress(name_of("pod", object), "Pending", "");
    }
    walk->last = object;
    const auto pod = model::pod_view(object);
    if (!pod) {
      return;
    }
    PodState state = state_of(**pod);
    if (!now) {
      state = (*pod)->terminal() ? walk->state : PodState::Deleted;
      last_progress = loop.now();
    }
    // A pod bound and started between two looks was bound all the same.
    if (state != walk->state && state >= PodState::ContainerCreating &&
        state != PodState::Deleted && walk->state < PodState::Bound) {
      enter(*walk, PodState::Bound, **pod);
    }
    if (state != walk->state) {
      enter(*walk, state, **pod);
    }
  }

  void enter(PodWalk& walk, PodState state, const model::Pod& pod) {
    walk.state = state;
    walk.history.emplace_back(state, loop.now());
    const bool warning = state == PodState::Unschedulable || state == PodState::Failed;
    progress(fmt::format("pod/{}", walk.key.to_string()), to_string(state), detail_of(state, pod),
             warning);
  }

  void on_node(const api::Object& old, const api::Object& now) {
    if (!now) {
      progress(name_of("node", old), "Deleted", "", true);
      return;
    }
    const auto was =
        old ? model::node_view(old) : Result<std::shared_ptr<const model::Node>>(nullptr);
    const auto is = model::node_view(now);
    if (!was || !is) {
      return;
    }
    const bool ready_before = *was != nullptr && (*was)->ready();
    if ((*is)->ready() != ready_before) {
      progress(name_of("node", now), (*is)->ready() ? "Ready" : "NotReady", "", !(*is)->ready());
    }
  }

  void on_job(const api::Object& old, const api::Object& now) {
    if (!now || !old) {
      progress(name_of("job", now ? now : old), now ? "Created" : "Deleted", "");
      return;
    }
    const auto was = model::job_view(old);
    const auto is = model::job_view(now);
    if (!was || !is || (*was)->finished() || !(*is)->finished()) {
      return;
    }
    for (const model::Condition& condition : (*is)->status.conditions) {
      if (condition.status == "True" &&
          (condition.type == "Complete" || condition.type == "Failed")) {
        progress(name_of("job", now), condition.type, condition.message,
                 condition.type == "Failed");
      }
    }
  }

  void on_group(const api::Object& old, const api::Object& now) {
    if (!now || !old) {
      progress(name_of("podgroup", now ? now : old), now ? "Created" : "Deleted", "");
      return;
    }
    const std::string_view before = api::string_at(old.json(), "status.phase");
    const std::string_view after = api::string_at(now.json(), "status.phase");
    if (before != after) {
      progress(name_of("podgroup", now), after, "");
    }
  }

  void on_event(const api::Object& old, const api::Object& now) {
    if (old || !now) {
      return;
    }
    const std::string_view reason = api::string_at(now.json(), "reason");
    if (std::ranges::find(kSaidByState, reason) != kSaidByState.end()) {
      return;
    }
    std::string object(api::string_at(now.json(), "involvedObject.kind"));
    std::ranges::transform(object, object.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const std::string_view ns = api::string_at(now.json(), "involvedObject.namespace");
    object += fmt::format("/{}{}{}", ns, ns.empty() ? "" : "/",
                          api::string_at(now.json(), "involvedObject.name"));
    mark(std::move(object), reason, std::string(api::string_at(now.json(), "message")),
         api::string_at(now.json(), "type") == "Warning");
  }

  Loop& loop;
  std::function<void(const Mark&)> notify;
  std::vector<Mark> marks;
  std::map<std::string, std::shared_ptr<PodWalk>> walks;
  std::vector<std::shared_ptr<const PodWalk>> order;
  TimePoint last_progress;
  Informers informers;
};

FlightRecord::FlightRecord(client::Client& client, Loop& loop,
                           std::function<void(const Mark&)> on_mark)
    : state_(std::make_unique<State>(client, loop, std::move(on_mark))) {}

FlightRecord::~FlightRecord() = default;

const std::vector<Mark>& FlightRecord::marks() const {
  return state_->marks;
}

const std::vector<std::shared_ptr<const PodWalk>>& FlightRecord::pods() const {
  return state_->order;
}

TimePoint FlightRecord::last_progress() const {
  return state_->last_progress;
}

} // namespace berth::cluster
