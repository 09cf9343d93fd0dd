// The documents of a CronJob: the Job of a run, and its status. Source: kubernetes
// pkg/controller/cronjob/utils.go.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "berth/api/object.h"
#include "berth/base/time_zone.h"

namespace berth::controllers {

/// "backup-29389125": the CronJob's name and the run's minute since 1970.
std::string run_name(const api::Object& cron, TimePoint run);
/// The Job of a run, controlled by the CronJob. Its annotation says the time in this zone.
api::json::object job_of_run(const api::Object& cron, TimePoint run, const TimeZone& zone);

/// A Job's condition Complete or Failed that is True; "" while it runs.
std::string_view finished_as(const api::Object& job);

/// status.active by uid.
std::vector<std::string> active_uids(const api::Object& cron);
void add_active(api::json::object& status, const api::Object& job);
void drop_active(api::json::object& status, std::string_view uid);

} // namespace berth::controllers
