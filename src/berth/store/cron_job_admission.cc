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

/// A schedule that had a time zone in it may keep one.
void check_schedule(const AdmissionRequest& request, const api::Object& object,
                    FieldErrors& errors) {
  const std::string_view schedule = api::string_at(object.json(), "spec.schedule");
  if (schedule.empty()) {
    errors.push_back(required_field("spec.schedule"));
    return;
  }
  if (const auto parsed = model::CronSchedule::parse(schedule); !parsed) {
    errors.push_back(invalid_value("spec.schedule", quote(schedule), parsed.error().message));
  }
  if (schedule.find("TZ") == std::string_view::npos) {
    return;
  }
  const bool had =
      request.before != nullptr &&
      api::string_at(request.before->json(), "spec.schedule").find("TZ") != std::string_view::npos;
  if (!had) {
    errors.push_back(
        invalid_value("spec.schedule", quote(schedule),
                      "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"));
  } else if (at(object, "spec.timeZone") != nullptr) {
    errors.push_back(invalid_value("spec.schedule", quote(schedule),
                                   "cannot use both timeZone field and TZ or CRON_TZ in schedule"));
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

void check_number(const api::Object& object, const char* path, FieldErrors& errors) {
  const value* number = at(object, path);
  if (number != nullptr && number->is_int64() && number->get_int64() < 0) {
    errors.push_back(invalid_value(path, fmt::to_string(number->get_int64()),
                                   "must be greater than or equal to 0"));
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

void check_cron_job(const AdmissionRequest& request, const api::Object& object,
                    FieldErrors& errors) {
  if (request.kind != GroupKind{"batch", "CronJob"} || request.subresource == Subresource::Status) {
    return;
  }
  check_schedule(request, object, errors);
  check_number(object, "spec.startingDeadlineSeconds", errors);
  check_time_zone(object, errors);
  check_policy(object, errors);
  check_job_template(object, errors);
  check_number(object, "spec.successfulJobsHistoryLimit", errors);
  check_number(object, "spec.failedJobsHistoryLimit", errors);
  if (request.before == nullptr && object.meta().name.size() > kLongestName) {
    errors.push_back(invalid_value("metadata.name", quote(object.meta().name),
                                   "must be no more than 52 characters"));
  }
}

} // namespace berth::store
