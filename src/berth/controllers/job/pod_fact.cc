#include "berth/controllers/job/pod_fact.h"

#include <algorithm>
#include <charconv>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "berth/api/json.h"

namespace berth::controllers {
namespace {

namespace json = api::json;

std::optional<std::int64_t> number_in(const api::Labels& annotations, std::string_view key) {
  const auto it = annotations.find(key);
  if (it == annotations.end()) {
    return std::nullopt;
  }
  std::int64_t value = 0;
  const char* const end = it->second.data() + it->second.size();
  const auto [stop, error] = std::from_chars(it->second.data(), end, value);
  return error == std::errc() && stop == end && value >= 0 ? std::optional(value) : std::nullopt;
}

PodFact::Phase phase_of(std::string_view text) {
  if (text == "Running") {
    return PodFact::Phase::Running;
  }
  if (text == "Succeeded") {
    return PodFact::Phase::Succeeded;
  }
  return text == "Failed" ? PodFact::Phase::Failed : PodFact::Phase::Pending;
}

const json::array& array_at(const json::value& document, std::string_view path) {
  static const json::array kEmpty;
  const json::value* value = api::find_path(document, path);
  return value != nullptr && value->is_array() ? value->get_array() : kEmpty;
}

std::int64_t restarts_in(const json::value& document) {
  std::int64_t total = 0;
  for (const std::string_view list : {"status.initContainerStatuses", "status.containerStatuses"}) {
    for (const json::value& container : array_at(document, list)) {
      if (const json::value* count = api::find(container, "restartCount");
          count != nullptr && count->is_int64()) {
        total += count->get_int64();
      }
    }
  }
  return total;
}

/// The last container's end, if every container has ended.
std::optional<TimePoint> containers_finished(const json::value& document) {
  std::optional<TimePoint> last;
  for (const json::value& container : array_at(document, "status.containerStatuses")) {
    const auto end = parse_rfc3339(api::string_at(container, "state.terminated.finishedAt"));
    if (!end) {
      return std::nullopt;
    }
    last = std::max(last.value_or(*end), *end);
  }
  return last;
}

void read_ready(const json::value& document, PodFact& fact,
                std::optional<TimePoint>& unready_since) {
  for (const json::value& condition : array_at(document, "status.conditions")) {
    if (api::string_at(condition, "type") != "Ready") {
      continue;
    }
    const auto since = parse_rfc3339(api::string_at(condition, "lastTransitionTime"));
    fact.ready = api::string_at(condition, "status") == "True";
    if (since) {
      (fact.ready ? fact.ready_since : unready_since) = *since;
    }
  }
}

} // namespace

Result<std::shared_ptr<const PodFact>> decode_pod_fact(const json::value& document) {
  BERTH_TRY(const api::ObjectMeta meta, api::parse_meta(document));
  auto fact = std::make_shared<PodFact>();
  fact->name = meta.name;
  fact->uid = meta.uid;
  fact->phase = phase_of(api::string_at(document, "status.phase"));
  fact->deleting = meta.deletion_timestamp.has_value();
  fact->tracked =
      std::ranges::find(meta.finalizers, kJobTrackingFinalizer) != meta.finalizers.end();
  fact->assigned = !api::string_at(document, "spec.nodeName").empty();
  fact->created = meta.creation_timestamp.value_or(TimePoint());
  fact->index = number_in(meta.annotations, kCompletionIndexKey);
  fact->index_failures = number_in(meta.annotations, kIndexFailuresAnnotation).value_or(0);
  fact->restarts = restarts_in(document);

  std::optional<TimePoint> unready_since;
  read_ready(document, *fact, unready_since);
  if (const auto end = containers_finished(document)) {
    fact->finished_at = *end;
  } else if (unready_since) {
    fact->finished_at = *unready_since;
  } else if (meta.deletion_timestamp) {
    fact->finished_at = *meta.deletion_timestamp -
                        Duration::seconds(meta.deletion_grace_period_seconds.value_or(0));
  } else {
    fact->finished_at = fact->created;
  }
  return std::shared_ptr<const PodFact>(std::move(fact));
}

} // namespace berth::controllers
