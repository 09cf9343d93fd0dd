// Events, of core v1 and events.k8s.io/v1, which are one object by two sets of names. Source:
// printers.go printEvent.
#include <fmt/format.h>

#include "berth/server/tables/cells.h"
#include "berth/server/tables/shapes.h"

namespace berth::server::tables {
namespace {

/// The field by core's name, else by that of events.k8s.io.
std::string either(const Row& row, std::string_view core, std::string_view events) {
  return text_at(row.document(), core, api::string_at(row.document(), events));
}

std::optional<TimePoint> either_time(const Row& row, std::string_view core,
                                     std::string_view events) {
  const auto time = time_at(row.document(), core);
  return time ? time : time_at(row.document(), events);
}

std::optional<TimePoint> first_time(const Row& row) {
  const auto first = either_time(row, "firstTimestamp", "deprecatedFirstTimestamp");
  return first ? first : time_at(row.document(), "eventTime");
}

json::value first_seen(const Row& row) {
  return json::value(age(first_time(row), row.now));
}

json::value last_seen(const Row& row) {
  if (api::find(row.document(), "series") != nullptr) {
    return json::value(age(time_at(row.document(), "series.lastObservedTime"), row.now));
  }
  const auto last = either_time(row, "lastTimestamp", "deprecatedLastTimestamp");
  return json::value(age(last ? last : first_time(row), row.now));
}

json::value count(const Row& row) {
  if (api::find(row.document(), "series") != nullptr) {
    return number_at(row.document(), "series.count");
  }
  const std::int64_t said =
      number_at(row.document(), "count", number_at(row.document(), "deprecatedCount"));
  return said == 0 ? 1 : said;
}

json::value target(const Row& row) {
  const std::string kind = lower(either(row, "involvedObject.kind", "regarding.kind"));
  const std::string name = either(row, "involvedObject.name", "regarding.name");
  return json::value(name.empty() ? kind : fmt::format("{}/{}", kind, name));
}

json::value subobject(const Row& row) {
  return json::value(either(row, "involvedObject.fieldPath", "regarding.fieldPath"));
}

json::value source(const Row& row) {
  std::string component = either(row, "source.component", "deprecatedSource.component");
  if (component.empty()) {
    component = either(row, "reportingComponent", "reportingController");
  }
  std::string host = either(row, "source.host", "deprecatedSource.host");
  if (host.empty()) {
    host = text_at(row.document(), "reportingInstance");
  }
  return json::value(host.empty() ? component : fmt::format("{}, {}", component, host));
}

json::value message(const Row& row) {
  const std::string whole = either(row, "message", "note");
  const std::size_t begin = whole.find_first_not_of(" \t\r\n\v\f");
  if (begin == std::string::npos) {
    return "";
  }
  return json::value(whole.substr(begin, whole.find_last_not_of(" \t\r\n\v\f") + 1 - begin));
}

} // namespace

TableShape event_shape() {
  Column name = name_column();
  name.priority = 1;
  return {
      .columns = {
          {.name = "Last Seen", .description = "When it last happened.", .cell = &last_seen},
          {.name = "Type", .description = "Normal or Warning.", .cell = text("type")},
          {.name = "Reason", .description = "What happened, in one word.", .cell = text("reason")},
          {.name = "Object", .description = "What it is about.", .cell = &target},
          {.name = "Subobject",
           .description = "The part of the object that it is about.",
           .priority = 1,
           .cell = &subobject},
          {.name = "Source", .description = "Who says so.", .priority = 1, .cell = &source},
          {.name = "Message", .description = "What happened.", .cell = &message},
          {.name = "First Seen",
           .description = "When it first happened.",
           .priority = 1,
           .cell = &first_seen},
          {.name = "Count",
           .description = "How often it has happened.",
           .priority = 1,
           .cell = &count},
          std::move(name)}};
}

} // namespace berth::server::tables
