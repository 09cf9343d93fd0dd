#include "berth/store/validation/events.h"

#include <array>

#include "berth/store/naming.h"
#include "berth/store/validation/immutable.h"
#include "berth/store/validation/judged.h"

namespace berth::store {
namespace {

constexpr std::size_t kLongestWord = 128;
constexpr std::size_t kLongestNote = 1024;

/// An event lies in the namespace of what it speaks of; what has none is spoken of in default.
void check_namespace(const api::Object& object, const Judged& whole) {
  const Judged ns = whole["involvedObject"]["namespace"];
  const std::string& own = object.meta().ns;
  const bool anew = !whole.text("eventTime").empty();
  const bool common = own == "default" || (anew ? own == "kube-system" : own.empty());
  if (ns.text().empty() ? !common : !anew && ns.text() != own) {
    ns.invalid("does not match event.namespace");
  }
}

void check_length(const Judged& text, std::size_t longest) {
  if (text.text().size() > longest) {
    text.invalid("\"\"", fmt::format("can have at most {} characters", longest));
  }
}

/// Of an event that says when it was: who saw what, and what was done.
void check_new_form(const AdmissionRequest& request, const Judged& whole) {
  const std::string_view controller = whole.text("reportingComponent");
  const Judged reporting(api::find(*whole.json(), "reportingComponent"),
                         request.as_events ? "reportingController" : "reportingComponent",
                         whole.errors());
  if (controller.empty()) {
    reporting.required();
  }
  for (const std::string& why : qualified_name_errors(controller)) {
    reporting.invalid(quote(controller), why);
  }
  for (const std::string_view member : {"reportingInstance", "action", "reason"}) {
    whole[member].need_text();
    check_length(whole[member], kLongestWord);
  }
  check_length(whole["message"], kLongestNote);
}

void check_series(const Judged& whole) {
  const Judged series = whole["series"];
  if (!series) {
    return;
  }
  if (series.number("count").value_or(0) < 2) {
    series["count"].invalid("\"\"", "should be at least 2");
  }
  series["lastObservedTime"].need_text();
}

void check_created(const Judged& whole) {
  check_series(whole);
  whole["eventTime"].need_text();
  if (const auto type = whole.text("type"); type != "Normal" && type != "Warning") {
    whole["type"].invalid("\"\"", fmt::format("has invalid value: {}", type));
  }
  for (const std::string_view member : {"firstTimestamp", "lastTimestamp"}) {
    if (!whole.text(member).empty()) {
      whole[member].invalid("\"\"", "needs to be unset");
    }
  }
  if (whole.number("count").value_or(0) != 0) {
    whole["count"].invalid("\"\"", "needs to be unset");
  }
  const Judged source = whole["source"];
  if (!source.text("component").empty() || !source.text("host").empty()) {
    source.invalid("\"\"", "needs to be unset");
  }
}

/// Left out, or what leaving it out says.
bool says_nothing(const Judged& value) {
  if (!value) {
    return true;
  }
  const api::json::value& json = *value.json();
  return (json.is_string() && json.get_string().empty()) ||
         (json.is_object() && json.get_object().empty()) ||
         (json.is_int64() && json.get_int64() == 0);
}

void check_changed(const Judged& before, const Judged& whole) {
  static constexpr std::array<std::string_view, 13> kFixed = {
      "involvedObject",   "reason",        "message", "source",
      "firstTimestamp",   "lastTimestamp", "count",   "type",
      "eventTime",        "action",        "related", "reportingComponent",
      "reportingInstance"};
  const auto json_of = [](const Judged& value) {
    return value ? *value.json() : api::json::value(nullptr);
  };
  if (json_of(whole["series"]) != json_of(before["series"])) {
    check_series(whole);
  }
  for (const std::string_view member : kFixed) {
    if (!says_nothing(before[member]) || !says_nothing(whole[member])) {
      check_immutable(before, whole, member);
    }
  }
}

} // namespace

void check_event(const AdmissionRequest& request, const api::Object& object, FieldErrors& errors) {
  if (request.kind != kEvents) {
    return;
  }
  const Judged whole(&object.json(), "", errors);
  check_namespace(object, whole);
  if (!whole.text("eventTime").empty()) {
    check_new_form(request, whole);
  }
  if (!request.as_events) {
    return;
  }
  if (request.before == nullptr) {
    check_created(whole);
  } else {
    check_changed(Judged(&request.before->json(), "", errors), whole);
  }
}

} // namespace berth::store
