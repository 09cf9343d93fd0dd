#include "berth/controllers/job/state.h"

#include <algorithm>
#include <limits>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "berth/api/json.h"

namespace berth::controllers {
namespace {

namespace json = api::json;

std::optional<std::int64_t> int_at(const json::value& document, std::string_view path) {
  const json::value* value = api::find_path(document, path);
  if (value == nullptr) {
    return std::nullopt;
  }
  if (value->is_int64()) {
    return value->get_int64();
  }
  if (value->is_uint64() && value->get_uint64() <= std::numeric_limits<std::int64_t>::max()) {
    return static_cast<std::int64_t>(value->get_uint64());
  }
  return std::nullopt;
}

std::optional<TimePoint> time_at(const json::value& document, std::string_view path) {
  auto time = parse_rfc3339(api::string_at(document, path));
  return time ? std::optional(*time) : std::nullopt;
}

std::vector<std::string> strings_at(const json::value& document, std::string_view path) {
  std::vector<std::string> strings;
  const json::value* value = api::find_path(document, path);
  if (value != nullptr && value->is_array()) {
    for (const json::value& item : value->get_array()) {
      if (item.is_string()) {
        strings.emplace_back(item.get_string());
      }
    }
  }
  std::ranges::sort(strings);
  return strings;
}

std::vector<JobCondition> read_conditions(const json::value& document) {
  std::vector<JobCondition> conditions;
  const json::value* value = api::find_path(document, "status.conditions");
  if (value == nullptr || !value->is_array()) {
    return conditions;
  }
  for (const json::value& item : value->get_array()) {
    conditions.push_back(
        {.type = std::string(api::string_at(item, "type")),
         .status = std::string(api::string_at(item, "status")),
         .reason = std::string(api::string_at(item, "reason")),
         .message = std::string(api::string_at(item, "message")),
         .last_transition = time_at(item, "lastTransitionTime").value_or(TimePoint())});
  }
  return conditions;
}

JobStatus read_status(const json::value& document, std::int64_t completions) {
  JobStatus status;
  status.active = int_at(document, "status.active").value_or(0);
  status.ready = int_at(document, "status.ready").value_or(0);
  status.terminating = int_at(document, "status.terminating").value_or(0);
  status.succeeded = int_at(document, "status.succeeded").value_or(0);
  status.failed = int_at(document, "status.failed").value_or(0);
  status.start_time = time_at(document, "status.startTime");
  status.completion_time = time_at(document, "status.completionTime");
  status.completed_indexes =
      IndexSet::parse(api::string_at(document, "status.completedIndexes"), completions);
  status.failed_indexes =
      IndexSet::parse(api::string_at(document, "status.failedIndexes"), completions);
  status.uncounted_succeeded = strings_at(document, "status.uncountedTerminatedPods.succeeded");
  status.uncounted_failed = strings_at(document, "status.uncountedTerminatedPods.failed");
  status.conditions = read_conditions(document);
  return status;
}

json::array write_conditions(const std::vector<JobCondition>& conditions) {
  json::array array;
  for (const JobCondition& c : conditions) {
    json::object item{{"type", c.type},
                      {"status", c.status},
                      {"lastProbeTime", to_rfc3339(c.last_transition)},
                      {"lastTransitionTime", to_rfc3339(c.last_transition)}};
    if (!c.reason.empty()) {
      item["reason"] = c.reason;
    }
    if (!c.message.empty()) {
      item["message"] = c.message;
    }
    array.emplace_back(std::move(item));
  }
  return array;
}

// Kubernetes leaves out zero counts and absent times; a reader may rely on either.
void set_count(json::object& status, std::string_view key, std::int64_t count) {
  if (count == 0) {
    status.erase(key);
  } else {
    status[key] = count;
  }
}

void set_time(json::object& status, std::string_view key, std::optional<TimePoint> time) {
  if (time) {
    status[key] = to_rfc3339(*time);
  } else {
    status.erase(key);
  }
}

json::object write_uncounted(const JobStatus& status) {
  json::object uncounted;
  if (!status.uncounted_succeeded.empty()) {
    uncounted["succeeded"] =
        json::array(status.uncounted_succeeded.begin(), status.uncounted_succeeded.end());
  }
  if (!status.uncounted_failed.empty()) {
    uncounted["failed"] =
        json::array(status.uncounted_failed.begin(), status.uncounted_failed.end());
  }
  return uncounted;
}

} // namespace

const JobCondition* JobStatus::holds(std::string_view type) const {
  const auto it = std::ranges::find_if(
      conditions, [&](const JobCondition& c) { return c.type == type && c.status == "True"; });
  return it == conditions.end() ? nullptr : &*it;
}

Result<std::shared_ptr<const JobState>> decode_job_state(const json::value& document) {
  BERTH_TRY(auto job, model::decode_job(document));
  auto state = std::make_shared<JobState>();
  state->completions = job->completions;
  if (api::find_path(document, "spec.completions") == nullptr &&
      api::find_path(document, "spec.parallelism") == nullptr) {
    state->completions = 1;
  }
  state->backoff_limit_per_index = int_at(document, "spec.backoffLimitPerIndex");
  state->max_failed_indexes = int_at(document, "spec.maxFailedIndexes");
  const std::int64_t default_limit =
      state->backoff_limit_per_index ? std::numeric_limits<std::int32_t>::max() : 6;
  state->backoff_limit = int_at(document, "spec.backoffLimit").value_or(default_limit);
  state->restart_on_failure =
      api::string_at(document, "spec.template.spec.restartPolicy") == "OnFailure";
  state->replace_only_terminated =
      api::string_at(document, "spec.podReplacementPolicy") == "Failed";
  state->status = read_status(document, state->completions.value_or(0));
  state->job = std::move(job);
  return std::shared_ptr<const JobState>(std::move(state));
}

api::Object with_status(const api::Object& job, const JobStatus& status, const JobState& state) {
  return job.edit([&](json::object& document) {
    json::object& out = api::object_at(document, "status");
    set_count(out, "active", status.active);
    set_count(out, "succeeded", status.succeeded);
    set_count(out, "failed", status.failed);
    out["ready"] = status.ready;
    out["terminating"] = status.terminating;
    set_time(out, "startTime", status.start_time);
    set_time(out, "completionTime", status.completion_time);
    if (state.indexed() && !status.completed_indexes.empty()) {
      out["completedIndexes"] = status.completed_indexes.to_string();
    }
    if (state.backoff_limit_per_index) {
      out["failedIndexes"] = status.failed_indexes.to_string();
    }
    out["uncountedTerminatedPods"] = write_uncounted(status);
    if (!status.conditions.empty()) {
      out["conditions"] = write_conditions(status.conditions);
    }
  });
}

} // namespace berth::controllers
