#include "berth/store/validation/job_status.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/api/same.h"
#include "berth/store/validation/index_format.h"
#include "berth/store/validation/judged.h"

namespace berth::store {
namespace {

class Checker {
 public:
  Checker(const api::Object& before, const api::Object& now, FieldErrors& errors)
      : was_(api::find(before.json(), "status"), "status", errors),
        is_(api::find(now.json(), "status"), "status", errors),
        spec_(api::find(now.json(), "spec"), "spec", errors) {}

  void check() {
    for (const char* count : {"active", "succeeded", "failed", "ready", "terminating"}) {
      is_[count].not_negative();
    }
    uncounted();
    contradictions();
    completion_time();
    missing_targets();
    finished();
    indexes();
    if ((changed("ready") || changed("active")) && number(is_, "ready") > number(is_, "active")) {
      is_["ready"].invalid("cannot set more ready pods than active");
    }
    success_criteria();
    history();
  }

 private:
  static bool holds(const Judged& status, std::string_view type) {
    bool found = false;
    status.each("conditions", [&](const Judged& condition) {
      found = found || (condition.text("type") == type && condition.text("status") == "True");
    });
    return found;
  }
  bool now(std::string_view type) const { return holds(is_, type); }
  bool turned(std::string_view type) const { return holds(was_, type) != holds(is_, type); }
  bool ended() const { return now("Complete") || now("Failed"); }
  bool turned_ended() const {
    return ended() != (holds(was_, "Complete") || holds(was_, "Failed"));
  }
  static std::int64_t number(const Judged& of, std::string_view member) {
    return of.number(member).value_or(0);
  }
  bool changed(std::string_view member) const {
    const api::json::value* before = was_[member].json();
    const api::json::value* after = is_[member].json();
    return (before == nullptr) != (after == nullptr) ||
           (before != nullptr && !api::same(*before, *after));
  }

  /// Of the conditions as a whole, whose value is not shown.
  void conditions(std::string_view why) {
    is_.errors().push_back({.code = Code::Invalid,
                            .message = fmt::format("Invalid value: {}", why),
                            .where = Where{.file = {}, .field = is_["conditions"].path()},
                            .causes = {}});
  }

  void uncounted() {
    std::set<std::string, std::less<>> seen;
    for (const char* list : {"succeeded", "failed"}) {
      is_["uncountedTerminatedPods"].each(list, [&](const Judged& uid) {
        if (uid.text().empty()) {
          uid.invalid("must not be empty");
        } else if (!seen.emplace(uid.text()).second) {
          uid.duplicate();
        }
      });
    }
  }

  void contradictions() {
    if ((turned("Complete") || turned("Failed")) && now("Complete") && now("Failed")) {
      conditions("cannot set Complete=True and Failed=true conditions");
    }
    if ((turned("Complete") || turned("FailureTarget")) && now("Complete") &&
        now("FailureTarget")) {
      conditions("cannot set Complete=True and FailureTarget=true conditions");
    }
  }

  void completion_time() {
    const Judged time = is_["completionTime"];
    const bool touched = changed("completionTime");
    if (turned("Complete") || touched) {
      if (time && !now("Complete")) {
        time.invalid("cannot set completionTime when there is no Complete=True condition");
      }
      if (!time && now("Complete")) {
        time.required("completionTime is required for Complete jobs");
      }
    }
    const auto start = parse_rfc3339(is_.text("startTime"));
    const auto end = parse_rfc3339(time.text());
    if ((touched || changed("startTime")) && start && end && *end < *start) {
      time.invalid("completionTime cannot be set before startTime");
    }
  }

  void missing_targets() {
    if ((turned("Failed") || turned("FailureTarget")) && now("Failed") && !now("FailureTarget")) {
      conditions("cannot set Failed=True condition without the FailureTarget=true condition");
    }
    if ((turned("Complete") || turned("SuccessCriteriaMet")) && now("Complete") &&
        !now("SuccessCriteriaMet")) {
      conditions("cannot set Complete=True condition without the SuccessCriteriaMet=true "
                 "condition");
    }
  }

  void finished() {
    if (!ended()) {
      return;
    }
    if ((turned_ended() || changed("active")) && number(is_, "active") > 0) {
      is_["active"].invalid("active>0 is invalid for finished job");
    }
    if ((turned_ended() || changed("startTime")) && !is_.has("startTime")) {
      is_["startTime"].required("startTime is required for finished job");
    }
    const Judged uncounted = is_["uncountedTerminatedPods"];
    if ((turned_ended() || changed("uncountedTerminatedPods")) &&
        uncounted.size("succeeded") + uncounted.size("failed") > 0) {
      uncounted.invalid("uncountedTerminatedPods needs to be empty for finished job");
    }
    if ((turned_ended() || changed("terminating")) && number(is_, "terminating") > 0) {
      is_["terminating"].invalid("terminating>0 is invalid for finished job");
    }
  }

  /// What such a text lists; nothing, and an error, if it is wrong.
  std::vector<IndexRange> listed(std::string_view member, std::string_view name, bool told) {
    const auto read = parse_indexes(is_.text(member), number(spec_, "completions"));
    if (!read && told) {
      is_[member].invalid(fmt::format("error parsing {}: {}", name, read.error().message));
    }
    return read.value_or(std::vector<IndexRange>());
  }

  void indexes() {
    const bool counted = spec_.has("completions");
    const bool completed = changed("completedIndexes");
    const bool failed = changed("failedIndexes");
    std::vector<IndexRange> done;
    std::vector<IndexRange> lost;
    if (counted) {
      done = listed("completedIndexes", "completedIndexes", completed);
    }
    if (counted && spec_.has("backoffLimitPerIndex")) {
      lost = listed("failedIndexes", "failedIndexes", failed);
    }
    if (completed && !is_.text("completedIndexes").empty() &&
        spec_.text("completionMode") != "Indexed") {
      is_["completedIndexes"].invalid(
          "cannot set non-empty completedIndexes when non-indexed completion mode");
    }
    if (failed && is_.has("failedIndexes") && !spec_.has("backoffLimitPerIndex")) {
      is_["failedIndexes"].invalid(
          "cannot set non-null failedIndexes when backoffLimitPerIndex is null");
    }
    if (const std::int64_t both = first_shared(done, lost); (completed || failed) && both >= 0) {
      is_["failedIndexes"].invalid(
          fmt::format("failedIndexes and completedIndexes overlap at index: {}", both));
    }
  }

  void success_criteria() {
    if (now("SuccessCriteriaMet") && now("Failed")) {
      conditions("cannot set SuccessCriteriaMet=True and Failed=true conditions");
    }
    if (now("SuccessCriteriaMet") && now("FailureTarget")) {
      conditions("cannot set SuccessCriteriaMet=True and FailureTarget=true conditions");
    }
    if (spec_.has("successPolicy") && !now("SuccessCriteriaMet") && now("Complete")) {
      conditions("cannot set Complete=True for Job with SuccessPolicy unless "
                 "SuccessCriteriaMet=True");
    }
  }

  /// What has happened does not unhappen.
  void history() {
    for (const char* type : {"Failed", "Complete", "FailureTarget"}) {
      if (holds(was_, type) && !now(type)) {
        conditions(fmt::format("cannot disable the terminal {}=True condition", type));
      }
    }
    if (number(is_, "failed") < number(was_, "failed")) {
      is_["failed"].invalid("cannot decrease the failed counter");
    }
    const bool elastic = spec_.text("completionMode") == "Indexed" && // it may be scaled down
                         spec_.number("completions") == spec_.number("parallelism");
    if (!elastic && number(is_, "succeeded") < number(was_, "succeeded")) {
      is_["succeeded"].invalid("cannot decrease the succeeded counter");
    }
    if (is_.has("completionTime") && was_.has("completionTime") && changed("completionTime")) {
      is_["completionTime"].invalid("completionTime cannot be mutated");
    }
    const bool resumed = holds(was_, "Suspended") && !now("Suspended"); // it starts anew
    if (was_.has("startTime") && changed("startTime") && !spec_.is_true("suspend") && !resumed) {
      is_["startTime"].required("startTime cannot be removed for unsuspended job");
    }
    if (holds(was_, "SuccessCriteriaMet") && !now("SuccessCriteriaMet")) {
      conditions("cannot disable the SuccessCriteriaMet=True condition");
    }
    if (holds(was_, "Complete") && !holds(was_, "SuccessCriteriaMet") &&
        now("SuccessCriteriaMet")) {
      conditions("cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions");
    }
  }

  Judged was_;
  Judged is_;
  Judged spec_;
};

} // namespace

void check_job_status(const api::Object& before, const api::Object& now, FieldErrors& errors) {
  Checker(before, now, errors).check();
}

} // namespace berth::store
