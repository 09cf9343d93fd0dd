#include "berth/node/pod_status.h"

#include <algorithm>
#include <string_view>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/model/requests.h"
#include "berth/node/pod_actions.h"

namespace berth::node {
namespace {

namespace json = boost::json;
using runtime::ContainerState;

std::string container_id(const runtime::ContainerStatus& status) {
  return fmt::format("{}://{}", status.runtime, status.id);
}

json::object terminated(const runtime::ContainerStatus& status, const StatusFacts& facts) {
  json::object state{{"exitCode", status.exit_code},
                     {"reason", status.reason},
                     {"startedAt", to_rfc3339(status.started_at)},
                     {"finishedAt", to_rfc3339(status.finished_at)},
                     {"containerID", container_id(status)}};
  const auto said = facts.messages.find(status.id);
  const std::string& message =
      said == facts.messages.end() || said->second.empty() ? status.message : said->second;
  if (!message.empty()) {
    state["message"] = message;
  }
  return {{"terminated", std::move(state)}};
}

// Waiting containers of a pod whose init phase is not over say so.
Reason default_waiting(const PodView& view, const ContainerView& each) {
  const bool inits = std::ranges::any_of(
      view.containers, [](const ContainerView& other) { return other.role == Role::Init; });
  const bool waits_for_init = inits && !view.init_phase_over();
  return {waits_for_init || each.role != Role::App ? "PodInitializing" : "ContainerCreating", ""};
}

json::object state_of(const PodView& view, const ContainerView& each, const StatusFacts& facts) {
  if (each.running()) {
    return {{"running", {{"startedAt", to_rfc3339(each.current->started_at)}}}};
  }
  const auto known = facts.waiting.find(each.spec->name);
  if (each.exited() && known == facts.waiting.end()) {
    return terminated(*each.current, facts);
  }
  if (!each.current && facts.final_phase && each.previous) {
    return terminated(*each.previous, facts);
  }
  const Reason reason = known == facts.waiting.end() ? default_waiting(view, each) : known->second;
  json::object waiting{{"reason", reason.reason}};
  if (!reason.message.empty()) {
    waiting["message"] = reason.message;
  }
  return {{"waiting", std::move(waiting)}};
}

// The attempt before the one that `state` shows.
const runtime::ContainerStatus* last_of(const ContainerView& each, const json::object& state) {
  if (each.exited() && state.contains("waiting")) {
    return each.current;
  }
  return !each.current && state.contains("terminated") ? nullptr : each.previous;
}

json::array device_status(const DeviceHealths& devices) {
  json::array out;
  for (const auto& [resource, healths] : devices) {
    json::array resources;
    for (const auto& [id, health] : healths) {
      resources.push_back(json::object{{"resourceID", id}, {"health", to_string(health)}});
    }
    out.push_back(json::object{{"name", resource}, {"resources", std::move(resources)}});
  }
  return out;
}

json::object amounts(const model::ResourceList& list) {
  json::object out;
  for (const auto& [name, quantity] : list) {
    out[name] = quantity.to_string();
  }
  return out;
}

// What a running container has is what its pod asks for now: a node resizes at once.
void put_resources(json::object& status, const model::ResourceRequirements& of) {
  json::object resources;
  for (const auto& [member, list] :
       {std::pair<std::string_view, const model::ResourceList&>{"limits", of.limits},
        {"requests", of.requests}}) {
    if (!list.empty()) {
      resources[member] = amounts(list);
    }
  }
  if (!of.requests.empty()) {
    status["allocatedResources"] = amounts(of.requests);
  }
  status["resources"] = std::move(resources);
}

bool ready(const ContainerView& each) {
  return (each.running() && !each.unready) || (each.role == Role::Init && each.succeeded());
}

json::object container_status(const PodView& view, const ContainerView& each,
                              const StatusFacts& facts) {
  json::object status{{"name", each.spec->name}};
  json::object state = state_of(view, each, facts);
  const runtime::ContainerStatus* last = last_of(each, state);
  status["lastState"] =
      last && last->state == ContainerState::Exited ? terminated(*last, facts) : json::object();
  status["state"] = std::move(state);
  status["ready"] = ready(each);
  status["restartCount"] = each.next_attempt == 0 ? 0 : each.next_attempt - 1;
  status["image"] = each.spec->image;
  const runtime::ContainerStatus* shown = each.current ? each.current : each.previous;
  status["imageID"] = shown ? shown->image_id : "";
  if (shown) {
    status["containerID"] = container_id(*shown);
  }
  status["started"] = each.started();
  if (each.running()) {
    put_resources(status, each.spec->resources);
  }
  if (const auto devices = facts.devices.find(each.spec->name); devices != facts.devices.end()) {
    status["allocatedResourcesStatus"] = device_status(devices->second);
  }
  return status;
}

bool init_incomplete(const PodView& view, const ContainerView& each) {
  return (each.role == Role::Init && !each.succeeded() && !view.init_phase_over()) ||
         (each.role == Role::Sidecar && !each.current);
}

std::string_view phase_of(const PodView& view, const StatusFacts& facts) {
  if (facts.final_phase) {
    return *facts.final_phase;
  }
  for (const ContainerView& each : view.containers) {
    const bool never_started = !each.current && !each.previous;
    const bool created_only = each.current && each.current->state == ContainerState::Created;
    if (each.role == Role::App ? (never_started || (created_only && !each.previous))
                               : init_incomplete(view, each)) {
      return "Pending";
    }
  }
  return "Running";
}

std::vector<std::string> names_where(const PodView& view,
                                     bool (*want)(const PodView&, const ContainerView&)) {
  std::vector<std::string> names;
  for (const ContainerView& each : view.containers) {
    if (want(view, each)) {
      names.push_back(each.spec->name);
    }
  }
  return names;
}

struct Condition {
  std::string_view type;
  bool holds = false;
  Reason why;
};

std::vector<Condition> conditions_of(const PodView& view, const StatusFacts& facts) {
  const auto uninitialized = names_where(view, init_incomplete);
  const auto unready = names_where(view, [](const PodView&, const ContainerView& each) {
    return each.role != Role::Init && !ready(each);
  });
  const bool succeeded = facts.final_phase == "Succeeded";
  Condition initialized{"Initialized", uninitialized.empty() || succeeded, {}};
  Condition containers_ready{"ContainersReady", unready.empty() && !facts.final_phase, {}};
  if (succeeded) {
    initialized.why = {"PodCompleted", ""};
    containers_ready.why = {"PodCompleted", ""};
  } else {
    if (!initialized.holds) {
      initialized.why = {
          "ContainersNotInitialized",
          fmt::format("containers with incomplete status: [{}]", fmt::join(uninitialized, " "))};
    }
    if (facts.final_phase) {
      containers_ready.why = {"PodFailed", ""};
    } else if (!containers_ready.holds) {
      containers_ready.why = {
          "ContainersNotReady",
          fmt::format("containers with unready status: [{}]", fmt::join(unready, " "))};
    }
  }
  Condition pod_ready = containers_ready;
  pod_ready.type = "Ready";
  if (pod_ready.holds && !facts.missing_gates.empty()) {
    pod_ready.holds = false;
    pod_ready.why = {"ReadinessGatesNotReady",
                     fmt::format("{}", fmt::join(facts.missing_gates, "; "))};
  }
  return {{"PodReadyToStartContainers", view.sandbox_ready(), {}},
          std::move(initialized),
          std::move(pod_ready),
          std::move(containers_ready)};
}

// Present only once a device was not well, so that healthy pods look as usual.
Condition devices_condition(const StatusFacts& facts) {
  std::vector<std::string> sick;
  for (const auto& [container, devices] : facts.devices) {
    for (const auto& [resource, healths] : devices) {
      for (const auto& [id, health] : healths) {
        if (health == DeviceHealth::Unhealthy) {
          sick.push_back(fmt::format("{} {} of container {}", resource, id, container));
        }
      }
    }
  }
  if (sick.empty()) {
    return Condition{kDevicesHealthyCondition, true, {}};
  }
  return Condition{kDevicesHealthyCondition,
                   false,
                   {"DeviceUnhealthy", fmt::format("unhealthy: {}", fmt::join(sick, "; "))}};
}

json::value* find_condition(json::array& conditions, std::string_view type) {
  for (json::value& condition : conditions) {
    if (api::string_at(condition, "type") == type) {
      return &condition;
    }
  }
  return nullptr;
}

void put_condition(json::array& conditions, const Condition& wanted, TimePoint now) {
  const std::string_view status = wanted.holds ? "True" : "False";
  json::value* place = find_condition(conditions, wanted.type);
  const bool same = place && api::string_at(*place, "status") == status;
  if (same && api::string_at(*place, "reason") == wanted.why.reason &&
      api::string_at(*place, "message") == wanted.why.message &&
      !api::string_at(*place, "lastTransitionTime").empty()) {
    return;
  }
  const std::string_view since =
      same ? api::string_at(*place, "lastTransitionTime") : std::string_view();
  json::object made{{"type", wanted.type}, {"status", status}};
  made["lastTransitionTime"] = since.empty() ? to_rfc3339(now) : std::string(since);
  if (!wanted.why.reason.empty()) {
    made["reason"] = wanted.why.reason;
  }
  if (!wanted.why.message.empty()) {
    made["message"] = wanted.why.message;
  }
  if (place) {
    *place = std::move(made);
  } else {
    conditions.push_back(std::move(made));
  }
}

void put_text(json::object& status, std::string_view key, const std::string& text) {
  if (text.empty()) {
    status.erase(key);
  } else {
    status[key] = text;
  }
}

void put_addresses(json::object& status, const PodView& view, const StatusFacts& facts) {
  if (!facts.host_ip.empty()) {
    status["hostIP"] = facts.host_ip;
    status["hostIPs"] = json::array{json::object{{"ip", facts.host_ip}}};
  }
  if (view.sandbox && runtime::only_loopback(*view.sandbox)) {
    // Wherever somebody tried that address, it would be that somebody's own.
    status.erase("podIP");
    status.erase("podIPs");
  } else if (view.sandbox) {
    const std::string& ip = view.sandbox->ip.empty() ? facts.host_ip : view.sandbox->ip;
    if (!ip.empty()) {
      status["podIP"] = ip;
      status["podIPs"] = json::array{json::object{{"ip", ip}}};
    }
  }
}

/// What is stored, but for what is said anew of containers.
json::object kept_of(const json::value* stored, bool with_containers) {
  json::object kept;
  if (stored && stored->is_object()) {
    kept.reserve(stored->get_object().size());
    for (const auto& [member, value] : stored->get_object()) {
      if (with_containers || member != "containerStatuses") {
        kept.emplace(member, value);
      }
    }
  }
  return kept;
}

} // namespace

json::object make_pod_status(const PodView& view, const StatusFacts& facts,
                             const json::value* stored) {
  // It never ran, or nobody remembers how: what is stored of its containers stands.
  const bool forgotten = facts.final_phase && !view.sandbox;
  json::object status = kept_of(stored, forgotten);
  status["phase"] = phase_of(view, facts);
  put_text(status, "reason", facts.verdict.reason);
  put_text(status, "message", facts.verdict.message);
  json::value& held = status["conditions"];
  json::array conditions = held.is_array() ? std::move(held.get_array()) : json::array();
  for (const Condition& condition : conditions_of(view, facts)) {
    put_condition(conditions, condition, facts.now);
  }
  const Condition devices = devices_condition(facts);
  if (!devices.holds || find_condition(conditions, kDevicesHealthyCondition)) {
    put_condition(conditions, devices, facts.now);
  }
  status["conditions"] = std::move(conditions);
  put_addresses(status, view, facts);
  if (facts.start_time) {
    status["startTime"] = to_rfc3339(*facts.start_time);
  }
  status["qosClass"] = model::qos_class(view.pod->spec);
  if (forgotten) {
    return status;
  }
  json::array inits;
  json::array apps;
  for (const ContainerView& each : view.containers) {
    (each.role == Role::App ? apps : inits).push_back(container_status(view, each, facts));
  }
  if (!inits.empty()) {
    status["initContainerStatuses"] = std::move(inits);
  }
  status["containerStatuses"] = std::move(apps);
  return status;
}

} // namespace berth::node
