#include "berth/store/workload_validation.h"

#include <array>

#include <fmt/format.h>

#include "berth/api/selector.h"
#include "berth/store/errors.h"
#include "berth/store/share_validation.h"
#include "berth/store/validation/formats.h"
#include "berth/store/validation/immutable.h"
#include "berth/store/validation/judged.h"
#include "berth/store/validation/pod.h"

namespace berth::store {
namespace {

/// What may change in a StatefulSet.
constexpr std::array<std::string_view, 7> kMutable = {"replicas",
                                                      "ordinals",
                                                      "template",
                                                      "updateStrategy",
                                                      "revisionHistoryLimit",
                                                      "minReadySeconds",
                                                      "persistentVolumeClaimRetentionPolicy"};

/// The template's labels are what the selector looks for; without a selector nothing is.
void check_labels(const Judged& spec) {
  const Judged labels = spec["template"]["metadata"]["labels"];
  api::Labels held;
  for (const std::string& name : labels.names()) {
    held[name] = labels.text(name);
  }
  const Judged selector = spec["selector"];
  const auto parsed = selector ? api::parse_label_selector(*selector.json()) : api::Selector();
  if (parsed && (!selector || !parsed->matches(held))) {
    labels.invalid(labels ? api::to_json(*labels.json()) : "null",
                   "`selector` does not match template `labels`");
  }
}

void check_not_empty(const Judged& selector, std::string_view kind) {
  if (selector && selector.size("matchLabels") + selector.size("matchExpressions") == 0) {
    selector.invalid(fmt::format("empty selector is invalid for {}", kind));
  }
}

void check_restarts(const Judged& spec, std::string_view kind) {
  const Judged pod = spec["template"]["spec"];
  if (const Judged policy = pod["restartPolicy"]; policy.text() != "Always") {
    policy.unsupported({"Always"});
  }
  if (pod.has("activeDeadlineSeconds")) {
    pod["activeDeadlineSeconds"].forbidden(
        fmt::format("activeDeadlineSeconds in {} is not Supported", kind));
  }
}

// ---- DaemonSets
// ---------------------------------------------------------------------------------

void check_rolling(const Judged& rolling) {
  const Judged most = rolling["maxUnavailable"];
  const Judged surge = rolling["maxSurge"];
  for (const Judged* share : {&most, &surge}) {
    if (*share) {
      check_share(*share->json(), share->path(), rolling.errors());
    }
  }
  const bool less = !is_zero_share(most.json());
  const bool more = !is_zero_share(surge.json());
  if (less && more) {
    surge.invalid("may not be set when maxUnavailable is non-zero");
  } else if (!less && !more) {
    most.required("cannot be 0 when maxSurge is 0");
  }
}

void check_daemon_set(const Judged& spec) {
  check_label_selector(spec["selector"]);
  check_labels(spec);
  check_not_empty(spec["selector"], "daemonset");
  check_pod_template(spec["template"]);
  check_restarts(spec, "DaemonSet");
  spec["minReadySeconds"].not_negative();
  const Judged strategy = spec["updateStrategy"];
  const std::string_view type = strategy.text("type");
  if (type == "RollingUpdate") {
    if (const Judged rolling = strategy["rollingUpdate"]) {
      check_rolling(rolling);
    } else {
      rolling.required();
    }
  } else if (type != "OnDelete") {
    spec.errors().push_back(unsupported_value(
        strategy.path(), fmt::format(R"({{"Type":{},"RollingUpdate":null}})", quote(type)),
        {"RollingUpdate", "OnDelete"}));
  }
  spec["revisionHistoryLimit"].not_negative();
}

// ---- StatefulSets
// -------------------------------------------------------------------------------

/// As Go's encoding/json writes what the API server holds of it.
std::string rolling_text(const Judged& rolling) {
  return rolling ? fmt::format(R"({{"Partition":{},"MaxUnavailable":null}})",
                               rolling.number("partition").value_or(0))
                 : "null";
}

void check_update_strategy(const Judged& strategy) {
  const std::string_view type = strategy.text("type");
  const Judged rolling = strategy["rollingUpdate"];
  if (type.empty()) {
    strategy.required();
  } else if (type == "RollingUpdate") {
    rolling["partition"].not_negative();
  } else if (type != "OnDelete") {
    strategy.invalid(
        fmt::format(R"({{"Type":{},"RollingUpdate":{}}})", quote(type), rolling_text(rolling)),
        "must be 'RollingUpdate' or 'OnDelete'");
  } else if (rolling) {
    rolling.invalid(rolling_text(rolling), "only allowed for updateStrategy 'RollingUpdate'");
  }
}

void check_stateful_set(const Judged& spec) {
  const Judged management = spec["podManagementPolicy"];
  if (management.need_text() && management.text() != "OrderedReady" &&
      management.text() != "Parallel") {
    management.invalid("must be 'OrderedReady' or 'Parallel'");
  }
  check_update_strategy(spec["updateStrategy"]);
  if (const Judged retention = spec["persistentVolumeClaimRetentionPolicy"]) {
    for (const std::string_view when : {"whenDeleted", "whenScaled"}) {
      if (const auto word = retention.text(when); word != "Retain" && word != "Delete") {
        retention[when].unsupported({"Retain", "Delete"});
      }
    }
  }
  spec["replicas"].not_negative();
  spec["minReadySeconds"].not_negative();
  spec["ordinals"]["start"].not_negative();
  if (const Judged selector = spec["selector"]) {
    check_label_selector(selector);
    check_not_empty(selector, "statefulset");
  } else {
    selector.required();
  }
  check_labels(spec);
  if (spec["template"]["spec"].size("containers") == 0) { // its volumes are not all there yet
    spec["template"]["spec"]["containers"].required();
  }
  check_restarts(spec, "StatefulSet");
  spec["revisionHistoryLimit"].not_negative();
}

/// The spec without what may change.
api::json::object fixed_part(const Judged& spec) {
  api::json::object rest = spec.object() == nullptr ? api::json::object() : *spec.object();
  for (const std::string_view field : kMutable) {
    rest.erase(field);
  }
  return rest;
}

} // namespace

void check_workload(const AdmissionRequest& request, const api::Object& object,
                    FieldErrors& errors) {
  if (request.kind.group != "apps" || request.subresource == Subresource::Status) {
    return;
  }
  const Judged spec(api::find(object.json(), "spec"), "spec", errors);
  const Judged before(request.before == nullptr ? nullptr
                                                : api::find(request.before->json(), "spec"),
                      "spec", errors);
  if (request.kind.kind == "DaemonSet") {
    check_daemon_set(spec);
    if (before) {
      check_immutable(before, spec, "selector");
    }
  } else if (request.kind.kind == "StatefulSet") {
    check_stateful_set(spec);
    if (before && fixed_part(before) != fixed_part(spec)) {
      spec.forbidden("updates to statefulset spec for fields other than 'replicas', 'ordinals', "
                     "'template', 'updateStrategy', 'revisionHistoryLimit', "
                     "'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden");
    }
  }
}

} // namespace berth::store
