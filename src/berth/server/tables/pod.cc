// Pods: readiness, the one word that kubectl shows as their status, restarts. Source: printers.go
// printPod.
#include <algorithm>

#include <fmt/format.h>

#include "berth/server/tables/cells.h"
#include "berth/server/tables/shapes.h"

namespace berth::server::tables {
namespace {

/// What the containers of a pod add up to.
struct Summary {
  std::size_t ready = 0;
  std::size_t total = 0;
  std::string reason;
  std::int64_t restarts = 0;
  std::optional<TimePoint> last_restart;
};

struct Restarts {
  std::int64_t count = 0;
  std::optional<TimePoint> last;

  void add(const json::value& status) {
    count += number_at(status, "restartCount");
    last = std::max(last, time_at(status, "lastState.terminated.finishedAt"));
  }
};

/// "Error", "Signal:9", "ExitCode:1".
std::string termination(const json::value& terminated) {
  if (const std::string_view reason = api::string_at(terminated, "reason"); !reason.empty()) {
    return std::string(reason);
  }
  const std::int64_t signal = number_at(terminated, "signal");
  return signal != 0 ? fmt::format("Signal:{}", signal)
                     : fmt::format("ExitCode:{}", number_at(terminated, "exitCode"));
}

bool is_sidecar(const json::value& container) {
  return api::string_at(container, "restartPolicy") == "Always";
}

/// Whether the init container of that status is a sidecar.
bool is_sidecar(const json::value& pod, std::string_view name) {
  const auto containers = list_at(pod, "spec.initContainers");
  return std::ranges::any_of(containers, [&](const json::value& container) {
    return api::string_at(container, "name") == name && is_sidecar(container);
  });
}

/// Why the pod still waits for the init container with this status, the i-th of `total`.
std::string initializing(const json::value& status, std::size_t i, std::size_t total) {
  if (const json::value* terminated = api::find_path(status, "state.terminated")) {
    return "Init:" + termination(*terminated);
  }
  const std::string_view waiting = api::string_at(status, "state.waiting.reason");
  if (!waiting.empty() && waiting != "PodInitializing") {
    return fmt::format("Init:{}", waiting);
  }
  return fmt::format("Init:{}/{}", i, total);
}

bool has_succeeded(const json::value& status) {
  const json::value* terminated = api::find_path(status, "state.terminated");
  return terminated != nullptr && number_at(*terminated, "exitCode") == 0;
}

/// The init containers, up to the first that the pod waits for. Returns whether it waits.
bool add_init_containers(const json::value& pod, Summary& out, Restarts& sidecars) {
  const auto statuses = list_at(pod, "status.initContainerStatuses");
  const std::size_t total = list_at(pod, "spec.initContainers").size();
  Restarts all;
  bool waits = false;
  for (std::size_t i = 0; i < statuses.size() && !waits; ++i) {
    const json::value& status = statuses[i];
    const bool sidecar = is_sidecar(pod, api::string_at(status, "name"));
    all.add(status);
    if (sidecar) {
      sidecars.add(status);
    }
    if (has_succeeded(status)) {
      continue;
    }
    if (sidecar && truth_at(status, "started")) {
      out.ready += truth_at(status, "ready") ? 1 : 0;
      continue;
    }
    out.reason = initializing(status, i, total);
    waits = true;
  }
  out.restarts = all.count;
  out.last_restart = all.last;
  return waits;
}

void add_containers(const json::value& pod, Summary& out, Restarts restarts) {
  const auto statuses = list_at(pod, "status.containerStatuses");
  bool running = false;
  // The first container has the last word.
  for (auto status = statuses.rbegin(); status != statuses.rend(); ++status) {
    restarts.add(*status);
    const std::string_view waiting = api::string_at(*status, "state.waiting.reason");
    const json::value* terminated = api::find_path(*status, "state.terminated");
    if (!waiting.empty()) {
      out.reason = waiting;
    } else if (terminated != nullptr) {
      out.reason = termination(*terminated);
    } else if (truth_at(*status, "ready") && api::find_path(*status, "state.running") != nullptr) {
      running = true;
      ++out.ready;
    }
  }
  out.restarts = restarts.count;
  out.last_restart = restarts.last;
  if (out.reason == "Completed" && running) {
    const auto conditions = list_at(pod, "status.conditions");
    const bool ready = std::ranges::any_of(conditions, [](const json::value& condition) {
      return api::string_at(condition, "type") == "Ready" &&
             api::string_at(condition, "status") == "True";
    });
    out.reason = ready ? "Running" : "NotReady";
  }
}

bool is_gated(const json::value& pod) {
  const auto conditions = list_at(pod, "status.conditions");
  return std::ranges::any_of(conditions, [](const json::value& condition) {
    return api::string_at(condition, "type") == "PodScheduled" &&
           api::string_at(condition, "reason") == "SchedulingGated";
  });
}

Summary summary(const Row& row) {
  const json::value& pod = row.document();
  const std::string_view phase = api::string_at(pod, "status.phase");
  const std::string_view stated = api::string_at(pod, "status.reason");
  Summary out;
  out.reason = is_gated(pod) ? "SchedulingGated" : stated.empty() ? phase : stated;
  const auto inits = list_at(pod, "spec.initContainers");
  out.total = list_at(pod, "spec.containers").size() +
              static_cast<std::size_t>(std::ranges::count_if(
                  inits, [](const json::value& container) { return is_sidecar(container); }));

  Restarts sidecars;
  const bool waits = add_init_containers(pod, out, sidecars);
  if (!waits || condition_status(list_at(pod, "status.conditions"), "Initialized") == "True") {
    add_containers(pod, out, sidecars);
  }
  if (row.object.meta().deletion_timestamp) {
    if (stated == "NodeLost") {
      out.reason = "Unknown";
    } else if (phase != "Succeeded" && phase != "Failed") {
      out.reason = "Terminating";
    }
  }
  return out;
}

json::value ready(const Row& row) {
  const Summary pod = summary(row);
  return json::value(fmt::format("{}/{}", pod.ready, pod.total));
}

json::value status(const Row& row) {
  return json::value(summary(row).reason);
}

json::value restarts(const Row& row) {
  const Summary pod = summary(row);
  if (pod.restarts == 0 || !pod.last_restart) {
    return json::value(fmt::to_string(pod.restarts));
  }
  return json::value(fmt::format("{} ({} ago)", pod.restarts, age(pod.last_restart, row.now)));
}

/// podIP decides where it and podIPs disagree, as in Kubernetes' conversion.
json::value ip(const Row& row) {
  const std::string single = text_at(row.document(), "status.podIP");
  const auto all = list_at(row.document(), "status.podIPs");
  if (!single.empty() || all.empty()) {
    return json::value(single.empty() ? "<none>" : single);
  }
  return json::value(text_at(all.front(), "ip", "<none>"));
}

json::value readiness_gates(const Row& row) {
  const auto gates = list_at(row.document(), "spec.readinessGates");
  const auto conditions = list_at(row.document(), "status.conditions");
  const auto open = std::ranges::count_if(gates, [&](const json::value& gate) {
    return condition_status(conditions, api::string_at(gate, "conditionType")) == "True";
  });
  return json::value(gates.empty() ? "<none>" : fmt::format("{}/{}", open, gates.size()));
}

json::array completed(const Row& row) {
  const std::string_view phase = api::string_at(row.document(), "status.phase");
  if (phase != "Succeeded" && phase != "Failed") {
    return {};
  }
  return {json::object{
      {"type", "Completed"},
      {"status", "True"},
      {"reason", std::string(phase)},
      {"message", phase == "Failed" ? "The pod failed." : "The pod has completed successfully."}}};
}

} // namespace

TableShape pod_shape() {
  return {
      .columns = {name_column(),
                  {.name = "Ready",
                   .description = "Containers that are ready, of all.",
                   .cell = &ready},
                  {.name = "Status",
                   .description = "What the pod's containers add up to.",
                   .cell = &status},
                  {.name = "Restarts",
                   .description = "How often containers were restarted, and when last.",
                   .cell = &restarts},
                  age_column(),
                  {.name = "IP", .description = "The pod's address.", .priority = 1, .cell = &ip},
                  {.name = "Node",
                   .description = "The node that the pod is bound to.",
                   .priority = 1,
                   .cell = text("spec.nodeName", "<none>")},
                  {.name = "Nominated Node",
                   .description = "The node where room is being made for the pod.",
                   .priority = 1,
                   .cell = text("status.nominatedNodeName", "<none>")},
                  {.name = "Readiness Gates",
                   .description = "Conditions of the pod's readiness that are true, of all.",
                   .priority = 1,
                   .cell = &readiness_gates}},
      .conditions = &completed};
}

} // namespace berth::server::tables
