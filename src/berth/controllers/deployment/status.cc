#include "berth/controllers/deployment/status.h"

#include <array>
#include <utility>

#include <boost/json/array.hpp>
#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/controllers/fields.h"

namespace berth::controllers {
namespace {

namespace json = api::json;

constexpr std::string_view kDone = "NewReplicaSetAvailable";
constexpr std::string_view kLate = "ProgressDeadlineExceeded";
constexpr std::int64_t kNoDeadline = INT32_MAX;

struct Counts {
  std::int64_t replicas = 0;
  std::int64_t updated = 0;
  std::int64_t ready = 0;
  std::int64_t available = 0;
};

Counts counts_of(const RolloutQuestion& question) {
  Counts sum;
  for (const RolloutSet& set : question.sets) {
    sum.replicas += set.replicas;
    sum.ready += set.ready;
    sum.available += set.available;
    sum.updated += set.current ? set.replicas : 0;
  }
  return sum;
}

const json::value* condition_of(const api::Object& deployment, std::string_view type) {
  const json::value* conditions = api::find_path(deployment.json(), "status.conditions");
  if (conditions == nullptr || !conditions->is_array()) {
    return nullptr;
  }
  for (const json::value& condition : conditions->get_array()) {
    if (api::string_at(condition, "type") == type) {
      return &condition;
    }
  }
  return nullptr;
}

struct Wanted {
  std::string_view type;
  bool holds;
  std::string_view reason;
  std::string message;
  bool moved; ///< something changed, even if the condition says the same
};

/// A condition that says the same as before keeps its times.
json::object condition(const api::Object& deployment, const Wanted& wanted, TimePoint now) {
  const json::value* before = condition_of(deployment, wanted.type);
  const std::string_view status = wanted.holds ? "True" : "False";
  const bool same = before != nullptr && api::string_at(*before, "status") == status &&
                    api::string_at(*before, "reason") == wanted.reason;
  std::string updated = to_rfc3339(now);
  std::string moved = updated;
  if (before != nullptr && api::string_at(*before, "status") == status) {
    moved = api::string_at(*before, "lastTransitionTime");
  }
  if (same && !wanted.moved) {
    updated = api::string_at(*before, "lastUpdateTime");
  }
  return {{"type", wanted.type},         {"status", status},        {"lastUpdateTime", updated},
          {"lastTransitionTime", moved}, {"reason", wanted.reason}, {"message", wanted.message}};
}

bool complete(const RolloutQuestion& question, const Counts& counts) {
  return counts.updated == question.wanted && counts.replicas == question.wanted &&
         counts.available >= question.wanted;
}

bool is_late(const api::Object& deployment, TimePoint now) {
  const auto deadline = progress_deadline(deployment);
  return deadline && *deadline <= now;
}

Wanted progressing(const api::Object& deployment, const RolloutStatus& status,
                   const Counts& counts) {
  const bool moved = counts.updated != number_at(deployment, "status.updatedReplicas", 0) ||
                     counts.replicas != number_at(deployment, "status.replicas", 0) ||
                     counts.available != number_at(deployment, "status.availableReplicas", 0) ||
                     counts.ready != number_at(deployment, "status.readyReplicas", 0);
  const std::string set = fmt::format("ReplicaSet \"{}\"", status.current);
  const json::value* before = condition_of(deployment, "Progressing");
  if (complete(status.question, counts)) {
    return {"Progressing", true, kDone, set + " has successfully progressed.", moved};
  }
  const bool was_late = before != nullptr && api::string_at(*before, "reason") == kLate;
  if (!moved && (was_late || is_late(deployment, status.now))) {
    return {"Progressing", false, kLate, set + " has timed out progressing.", false};
  }
  return {"Progressing", true, "ReplicaSetUpdated", set + " is progressing.", moved};
}

void set_count(json::object& out, std::string_view name, std::int64_t count) {
  if (count == 0) {
    out.stable_erase(name);
  } else {
    out[name] = count;
  }
}

} // namespace

std::optional<TimePoint> progress_deadline(const api::Object& deployment) {
  const json::value* before = condition_of(deployment, "Progressing");
  const std::int64_t seconds = number_at(deployment, "spec.progressDeadlineSeconds", kNoDeadline);
  if (before == nullptr || seconds >= kNoDeadline || api::string_at(*before, "reason") == kDone ||
      api::string_at(*before, "reason") == kLate) {
    return std::nullopt;
  }
  const auto since = parse_rfc3339(api::string_at(*before, "lastUpdateTime"));
  return since ? std::optional(*since + Duration::seconds(seconds)) : std::nullopt;
}

api::Object with_rollout_status(const api::Object& deployment, const RolloutStatus& status) {
  const Counts counts = counts_of(status.question);
  const bool enough = counts.available >= status.question.wanted - status.question.max_unavailable;
  const Wanted available{"Available", enough,
                         enough ? "MinimumReplicasAvailable" : "MinimumReplicasUnavailable",
                         enough ? "Deployment has minimum availability."
                                : "Deployment does not have minimum availability.",
                         false};
  const Wanted progress = progressing(deployment, status, counts);
  return deployment.edit([&](json::object& document) {
    json::object& out = api::object_at(document, "status");
    out["observedGeneration"] = deployment.meta().generation;
    set_count(out, "replicas", counts.replicas);
    set_count(out, "updatedReplicas", counts.updated);
    set_count(out, "readyReplicas", counts.ready);
    set_count(out, "availableReplicas", counts.available);
    set_count(out, "unavailableReplicas",
              std::max<std::int64_t>(
                  std::max(status.question.wanted, counts.replicas) - counts.available, 0));
    json::array conditions{condition(deployment, available, status.now)};
    if (!status.question.paused && !status.current.empty()) {
      conditions.push_back(condition(deployment, progress, status.now));
    }
    out["conditions"] = std::move(conditions);
  });
}

} // namespace berth::controllers
