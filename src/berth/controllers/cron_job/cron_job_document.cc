#include "berth/controllers/cron_job/cron_job_document.h"

#include <utility>

#include <boost/json/array.hpp>
#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/controllers/fields.h"

namespace berth::controllers {

namespace json = api::json;

std::string run_name(const api::Object& cron, TimePoint run) {
  return fmt::format("{}-{}", cron.meta().name, run.unix_seconds() / 60);
}

json::object job_of_run(const api::Object& cron, TimePoint run, const TimeZone& zone) {
  json::object meta{{"name", run_name(cron, run)}, {"namespace", cron.meta().ns}};
  for (const std::string_view field : {"labels", "annotations"}) {
    const json::value* held =
        api::find_path(cron.json(), fmt::format("spec.jobTemplate.metadata.{}", field));
    if (held != nullptr && held->is_object()) {
      meta[field] = *held;
    }
  }
  api::object_at(meta, "annotations")["batch.kubernetes.io/cronjob-scheduled-timestamp"] =
      zone.to_rfc3339(run);
  json::object job{{"apiVersion", "batch/v1"}, {"kind", "Job"}, {"metadata", std::move(meta)}};
  if (const json::value* spec = api::find_path(cron.json(), "spec.jobTemplate.spec")) {
    job["spec"] = *spec;
  }
  api::set_controller(job, cron);
  return job;
}

std::string_view finished_as(const api::Object& job) {
  for (const json::value& condition : array_at(job.json(), "status.conditions")) {
    const std::string_view type = api::string_at(condition, "type");
    if ((type == "Complete" || type == "Failed") && api::string_at(condition, "status") == "True") {
      return type;
    }
  }
  return "";
}

std::vector<std::string> active_uids(const api::Object& cron) {
  std::vector<std::string> uids;
  for (const json::value& one : array_at(cron.json(), "status.active")) {
    uids.emplace_back(api::string_at(one, "uid"));
  }
  return uids;
}

void add_active(json::object& status, const api::Object& job) {
  json::value& list = status["active"];
  json::array& active = list.is_array() ? list.get_array() : list.emplace_array();
  active.push_back(json::object{{"kind", "Job"},
                                {"namespace", job.meta().ns},
                                {"name", job.meta().name},
                                {"uid", job.meta().uid},
                                {"apiVersion", "batch/v1"},
                                {"resourceVersion", fmt::to_string(job.meta().resource_version)}});
}

void drop_active(json::object& status, std::string_view uid) {
  json::value* list = status.if_contains("active");
  if (list == nullptr || !list->is_array()) {
    return;
  }
  json::array& active = list->get_array();
  for (auto it = active.begin(); it != active.end();) {
    it = api::string_at(*it, "uid") == uid ? active.erase(it) : it + 1;
  }
  if (active.empty()) {
    status.stable_erase("active");
  }
}

} // namespace berth::controllers
