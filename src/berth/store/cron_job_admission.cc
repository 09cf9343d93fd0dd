#include "berth/store/cron_job_admission.h"

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/model/cron_schedule.h"
#include "berth/store/errors.h"
#include "berth/store/validation/job.h"

namespace berth::store {
namespace {

using api::json::value;

/// A Job's 63 characters less "-" and ten digits of a run.
constexpr std::size_t kLongestName = 52;

const value* at(const api::Object& object, std::string_view path) {
  return api::find_path(object.json(), path);
}

void check_schedule(const api::Object& object, FieldErrors& errors) {
  const std::string_view schedule = api::string_at(object.json(), "spec.schedule");
  if (schedule.empty()) {
    errors.push_back(required_field("spec.schedule"));
    return;
  }
  if (const auto parsed = model::CronSchedule::parse(schedule); !parsed) {
    errors.push_back(invalid_value("spec.schedule", quote(schedule), parsed.error().message));
  }
  if (schedule.find("TZ") != std::string_view::npos) {
    errors.push_back(
        invalid_value("spec.schedule", quote(schedule),
                      "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"));
  }
}

void check_time_zone(const api::Object& object, FieldErrors& errors) {
  const value* given = at(object, "spec.timeZone");
  if (given == nullptr || !given->is_string()) {
    return;
  }
  const std::string_view zone = given->get_string();
  if (zone.empty()) {
    errors.push_back(
        invalid_value("spec.timeZone", quote(zone), "timeZone must be nil or non-empty string"));
  } else if (zone == "Local" || zone == "local" || zone == "LOCAL") {
    errors.push_back(invalid_value("spec.timeZone", quote(zone),
                                   "timeZone must be an explicit time zone as defined in "
                                   "https://www.iana.org/time-zones"));
  } else if (const auto loaded = TimeZone::load(zone); !loaded) {
    errors.push_back(invalid_value("spec.timeZone", quote(zone), loaded.error().message));
  }
}

void check_numbers(const api::Object& object, FieldErrors& errors) {
  for (const char* path : {"spec.startingDeadlineSeconds", "spec.successfulJobsHistoryLimit",
                           "spec.failedJobsHistoryLimit"}) {
    const value* number = at(object, path);
    if (number != nullptr && number->is_int64() && number->get_int64() < 0) {
      errors.push_back(invalid_value(path, fmt::to_string(number->get_int64()),
                                     "must be greater than or equal to 0"));
    }
  }
}

void check_policy(const api::Object& object, FieldErrors& errors) {
  const std::string_view policy = api::string_at(object.json(), "spec.concurrencyPolicy");
  if (policy.empty()) {
    errors.push_back(required_field("spec.concurrencyPolicy"));
  } else if (policy != "Allow" && policy != "Forbid" && policy != "Replace") {
    errors.push_back(
        unsupported_value("spec.concurrencyPolicy", quote(policy), {"Allow", "Forbid", "Replace"}));
  }
}

void check_job_template(const api::Object& object, FieldErrors& errors) {
  const std::string path = "spec.jobTemplate.spec";
  check_job_spec(Judged(at(object, path), path, errors));
  if (const value* selector = at(object, path + ".selector")) {
    errors.push_back(invalid_value(path + ".selector", api::to_json(*selector),
                                   "`selector` will be auto-generated"));
  }
  const value* manual = at(object, path + ".manualSelector");
  if (manual != nullptr && manual->is_bool() && manual->get_bool()) {
    errors.push_back(unsupported_value(path + ".manualSelector", "true", {"nil", "false"}));
  }
}

} // namespace

Result<void> check_cron_job(const AdmissionRequest& request, const api::Object& object) {
  if (request.kind != GroupKind{"batch", "CronJob"} || request.subresource == Subresource::Status) {
    return {};
  }
  FieldErrors errors;
  if (request.before == nullptr && object.meta().name.size() > kLongestName) {
    errors.push_back(invalid_value("metadata.name", quote(object.meta().name),
                                   "must be no more than 52 characters"));
  }
  check_schedule(object, errors);
  check_time_zone(object, errors);
  check_policy(object, errors);
  check_numbers(object, errors);
  check_job_template(object, errors);
  if (!errors.empty()) {
    return invalid(request.kind, object.meta().name, std::move(errors));
  }
  return {};
}

} // namespace berth::store
