// Controllers of pods, and what limits them. A field that Kubernetes fills in when it reads an
// object counts as filled in: one replica, not suspended. Source: printers.go.
#include <array>

#include <fmt/format.h>

#include "berth/server/tables/cells.h"
#include "berth/server/tables/shapes.h"

namespace berth::server::tables {
namespace {

constexpr std::string_view kTemplate = "spec.template.spec";

Column count_column(std::string_view name, std::string_view description, std::string_view path,
                    std::int64_t otherwise = 0) {
  return {.name = std::string(name),
          .type = "integer",
          .description = std::string(description),
          .cell = number(path, otherwise)};
}

/// metav1.LabelSelector at `path`, with -o wide.
Column selector_column(std::string_view path) {
  return {.name = "Selector",
          .description = "Which pods belong to it.",
          .priority = 1,
          .cell = [=](const Row& row) {
            return json::value(formatted_selector(api::find_path(row.document(), path)));
          }};
}

/// Ready of wanted replicas, "1/3".
Column ready_column() {
  return {.name = "Ready",
          .description = "Replicas that are ready, of those wanted.",
          .cell = [](const Row& row) {
            return json::value(fmt::format("{}/{}",
                                           number_at(row.document(), "status.readyReplicas"),
                                           number_at(row.document(), "spec.replicas", 1)));
          }};
}

TableShape pod_template_shape() {
  Column containers = containers_column("template.spec");
  Column images = images_column("template.spec");
  containers.priority = images.priority = 0;
  return {.columns = {name_column(),
                      std::move(containers),
                      std::move(images),
                      {.name = "Pod Labels",
                       .description = "Labels of the template.",
                       .cell = [](const Row& row) {
                         return json::value(labels_text(
                             api::find_path(row.document(), "template.metadata.labels")));
                       }}}};
}

TableShape replicated_shape(Column selector) {
  return {.columns = {name_column(),
                      count_column("Desired", "Replicas wanted.", "spec.replicas", 1),
                      count_column("Current", "Replicas there are.", "status.replicas"),
                      count_column("Ready", "Replicas that are ready.", "status.readyReplicas"),
                      age_column(), containers_column(kTemplate), images_column(kTemplate),
                      std::move(selector)}};
}

TableShape replication_controller_shape() {
  Column selector = selector_column("spec.selector");
  selector.cell = [](const Row& row) {
    return json::value(labels_text(api::find_path(row.document(), "spec.selector")));
  };
  return replicated_shape(std::move(selector));
}

TableShape replica_set_shape() {
  return replicated_shape(selector_column("spec.selector"));
}

TableShape deployment_shape() {
  Column selector = selector_column("spec.selector");
  selector.cell = [](const Row& row) {
    const auto text = selector_text(api::find_path(row.document(), "spec.selector"));
    return json::value(text.value_or("<invalid>"));
  };
  Column updated =
      count_column("Up-to-date", "Replicas of the newest template.", "status.updatedReplicas");
  Column available =
      count_column("Available", "Replicas ready for minReadySeconds.", "status.availableReplicas");
  updated.type = available.type = "string";
  return {.columns = {name_column(), ready_column(), std::move(updated), std::move(available),
                      age_column(), containers_column(kTemplate), images_column(kTemplate),
                      std::move(selector)}};
}

TableShape stateful_set_shape() {
  return {.columns = {name_column(), ready_column(), age_column(), containers_column(kTemplate),
                      images_column(kTemplate)}};
}

TableShape daemon_set_shape() {
  return {.columns = {
              name_column(),
              count_column("Desired", "Nodes that should run it.", "status.desiredNumberScheduled"),
              count_column("Current", "Nodes that run it.", "status.currentNumberScheduled"),
              count_column("Ready", "Nodes where it is ready.", "status.numberReady"),
              count_column("Up-to-date", "Nodes with the newest template.",
                           "status.updatedNumberScheduled"),
              count_column("Available", "Nodes where it is ready for minReadySeconds.",
                           "status.numberAvailable"),
              {.name = "Node Selector",
               .description = "Labels of the nodes that it may run on.",
               .cell =
                   [](const Row& row) {
                     return json::value(labels_text(
                         api::find_path(row.document(), "spec.template.spec.nodeSelector")));
                   }},
              age_column(),
              containers_column(kTemplate),
              images_column(kTemplate),
              selector_column("spec.selector")}};
}

json::value job_status(const Row& row) {
  const auto conditions = list_at(row.document(), "status.conditions");
  const auto has = [&](std::string_view type) {
    return condition_status(conditions, type) == "True";
  };
  for (const char* ended : {"Complete", "Failed"}) {
    if (has(ended)) {
      return ended;
    }
  }
  if (row.object.meta().deletion_timestamp) {
    return "Terminating";
  }
  for (const char* state : {"Suspended", "FailureTarget", "SuccessCriteriaMet"}) {
    if (has(state)) {
      return state;
    }
  }
  return "Running";
}

json::value completions(const Row& row) {
  const json::value& job = row.document();
  const std::int64_t succeeded = number_at(job, "status.succeeded");
  if (api::find_path(job, "spec.completions") != nullptr) {
    return json::value(fmt::format("{}/{}", succeeded, number_at(job, "spec.completions")));
  }
  const std::int64_t parallelism = number_at(job, "spec.parallelism");
  return json::value(parallelism > 1 ? fmt::format("{}/1 of {}", succeeded, parallelism)
                                     : fmt::format("{}/1", succeeded));
}

json::value job_duration(const Row& row) {
  const auto start = time_at(row.document(), "status.startTime");
  if (!start) {
    return "";
  }
  const auto end = time_at(row.document(), "status.completionTime");
  return json::value(human_duration(elapsed(*start, end.value_or(row.now))));
}

TableShape job_shape() {
  return {.columns = {name_column(),
                      {.name = "Status", .description = "What the job does.", .cell = &job_status},
                      {.name = "Completions",
                       .description = "Pods that succeeded, of those that must.",
                       .cell = &completions},
                      {.name = "Duration",
                       .description = "How long the job has run, or ran.",
                       .cell = &job_duration},
                      age_column(),
                      containers_column(kTemplate),
                      images_column(kTemplate),
                      selector_column("spec.selector")}};
}

json::value last_schedule(const Row& row) {
  if (api::find_path(row.document(), "status.lastScheduleTime") == nullptr) {
    return "<none>";
  }
  return json::value(age(time_at(row.document(), "status.lastScheduleTime"), row.now));
}

TableShape cron_job_shape() {
  constexpr std::string_view kJobTemplate = "spec.jobTemplate.spec.template.spec";
  return {.columns = {name_column(),
                      {.name = "Schedule",
                       .description = "When jobs are made, in cron's format.",
                       .cell = text("spec.schedule")},
                      {.name = "Timezone",
                       .description = "Time zone of the schedule.",
                       .cell = set_text("spec.timeZone", "<none>")},
                      {.name = "Suspend",
                       .type = "boolean",
                       .description = "Whether no more jobs are made.",
                       .cell = [](const Row& row) -> json::value {
                         return truth_at(row.document(), "spec.suspend") ? "True" : "False";
                       }},
                      {.name = "Active",
                       .type = "integer",
                       .description = "Jobs that run.",
                       .cell = size_of("status.active")},
                      {.name = "Last Schedule",
                       .description = "When a job was last made.",
                       .cell = &last_schedule},
                      age_column(),
                      containers_column(kJobTemplate),
                      images_column(kJobTemplate),
                      selector_column("spec.jobTemplate.spec.selector")}};
}

json::value controller_name(const Row& row) {
  const api::OwnerReference* owner = row.object.meta().controller();
  if (owner == nullptr) {
    return "<none>";
  }
  const std::size_t slash = owner->api_version.find('/');
  const std::string group =
      slash == std::string::npos ? "" : "." + owner->api_version.substr(0, slash);
  return json::value(fmt::format("{}/{}", lower(owner->kind + group), owner->name));
}

TableShape controller_revision_shape() {
  return {
      .columns = {
          name_column(),
          {.name = "Controller", .description = "Whose revision it is.", .cell = &controller_name},
          {.name = "Revision",
           .description = "Number of the revision.",
           .cell = number("revision")},
          age_column()}};
}

Cell limit(std::string_view path) {
  return [=](const Row& row) {
    return json::value(text_or_number(api::find_path(row.document(), path), "N/A"));
  };
}

TableShape disruption_budget_shape() {
  return {.columns = {name_column(),
                      {.name = "Min Available",
                       .description = "Pods that must stay.",
                       .cell = limit("spec.minAvailable")},
                      {.name = "Max Unavailable",
                       .description = "Pods that may be away.",
                       .cell = limit("spec.maxUnavailable")},
                      count_column("Allowed Disruptions", "Pods that may be evicted now.",
                                   "status.disruptionsAllowed"),
                      age_column()}};
}

TableShape scale_shape() {
  Column name = name_column();
  name.format = "";
  return {.columns = {std::move(name), count_column("Desired", "Replicas wanted.", "spec.replicas"),
                      count_column("Available", "Replicas there are.", "status.replicas"),
                      age_column()}};
}

constexpr KindShape kShapes[] = {
    {"", "PodTemplate", &pod_template_shape},
    {"", "ReplicationController", &replication_controller_shape},
    {"apps", "ReplicaSet", &replica_set_shape},
    {"apps", "Deployment", &deployment_shape},
    {"apps", "StatefulSet", &stateful_set_shape},
    {"apps", "DaemonSet", &daemon_set_shape},
    {"apps", "ControllerRevision", &controller_revision_shape},
    {"batch", "Job", &job_shape},
    {"batch", "CronJob", &cron_job_shape},
    {"policy", "PodDisruptionBudget", &disruption_budget_shape},
    {"autoscaling", "Scale", &scale_shape},
    {"autoscaling", "HorizontalPodAutoscaler", &autoscaler_shape},
};

} // namespace

std::span<const KindShape> workload_shapes() {
  return kShapes;
}

} // namespace berth::server::tables
