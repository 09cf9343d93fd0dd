#include "berth/controllers/job/job_pod.h"

#include <algorithm>

#include <boost/json/array.hpp>
#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/controllers/pod_from_template.h"

namespace berth::controllers {
namespace {

namespace json = api::json;

constexpr std::string_view kIndexVariable = "JOB_COMPLETION_INDEX";

void add_finalizer(json::object& metadata) {
  json::value& finalizers = metadata["finalizers"];
  if (!finalizers.is_array()) {
    finalizers = json::array();
  }
  json::array& list = finalizers.get_array();
  if (std::ranges::find(list, json::value(kJobTrackingFinalizer)) == list.end()) {
    list.emplace_back(kJobTrackingFinalizer);
  }
}

void add_job_labels(json::object& metadata, const api::Object& job) {
  json::object& labels = api::object_at(metadata, "labels");
  labels["batch.kubernetes.io/controller-uid"] = job.meta().uid;
  labels["batch.kubernetes.io/job-name"] = job.meta().name;
  labels["controller-uid"] = job.meta().uid;
  labels["job-name"] = job.meta().name;
}

/// JOB_COMPLETION_INDEX from the pod's own annotation, unless the container sets the variable
/// itself.
void add_index_variable(json::value& container) {
  if (!container.is_object()) {
    return;
  }
  json::value& env = container.get_object()["env"];
  if (!env.is_array()) {
    env = json::array();
  }
  json::array& variables = env.get_array();
  const bool present = std::ranges::any_of(variables, [](const json::value& variable) {
    return api::string_at(variable, "name") == kIndexVariable;
  });
  if (!present) {
    const std::string path = fmt::format("metadata.annotations['{}']", kCompletionIndexKey);
    variables.push_back(json::object{
        {"name", kIndexVariable},
        {"valueFrom",
         json::object{{"fieldRef", json::object{{"apiVersion", "v1"}, {"fieldPath", path}}}}}});
  }
}

void add_index(json::object& pod, const api::Object& job, std::int64_t index) {
  const std::string text = fmt::format("{}", index);
  json::object& metadata = api::object_at(pod, "metadata");
  api::object_at(metadata, "labels")[kCompletionIndexKey] = text;
  api::object_at(metadata, "annotations")[kCompletionIndexKey] = text;
  json::object& spec = api::object_at(pod, "spec");
  spec["hostname"] = fmt::format("{}-{}", job.meta().name, index);
  for (const std::string_view list : {"initContainers", "containers"}) {
    const auto it = spec.find(list);
    if (it == spec.end() || !it->value().is_array()) {
      continue;
    }
    for (json::value& container : it->value().get_array()) {
      add_index_variable(container);
    }
  }
}

} // namespace

Result<api::Object> make_job_pod(const api::Object& job, const JobState& state,
                                 const PodCreation& wanted, const std::string& suffix) {
  const std::string tail = wanted.index ? fmt::format("-{}-", *wanted.index) : "-";
  json::object pod =
      pod_from_template(state.job->pod_template, job, generate_name(job.meta().name, tail), suffix);
  json::object& metadata = api::object_at(pod, "metadata");
  add_finalizer(metadata);
  add_job_labels(metadata, job);
  if (wanted.index) {
    add_index(pod, job, *wanted.index);
    if (state.backoff_limit_per_index) {
      api::object_at(api::object_at(pod, "metadata"), "annotations")[kIndexFailuresAnnotation] =
          fmt::format("{}", wanted.index_failures);
    }
  }
  return api::Object::from_json(json::value(std::move(pod)));
}

} // namespace berth::controllers
