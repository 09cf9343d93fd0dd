#include "berth/store/validation/replicas.h"

#include <algorithm>
#include <charconv>

#include "berth/api/selector.h"
#include "berth/store/document.h"
#include "berth/store/pod_defaults.h"
#include "berth/store/validation/formats.h"
#include "berth/store/validation/immutable.h"
#include "berth/store/validation/pod.h"

namespace berth::store {
namespace {

const GroupKind kDeployments{"apps", "Deployment"};
const GroupKind kReplicaSets{"apps", "ReplicaSet"};
const GroupKind kControllers{"", "ReplicationController"};

/// "25%" or 3; none for anything else.
std::optional<std::int64_t> percent_of(const Judged& amount) {
  std::string_view text = amount.text();
  if (!text.ends_with('%')) {
    return std::nullopt;
  }
  text.remove_suffix(1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = !text.empty() && error == std::errc() && end == text.data() + text.size();
  return whole && value >= 0 ? std::optional(value) : std::nullopt;
}

void check_amount(const Judged& amount) {
  if (amount && amount.json()->is_string() && !percent_of(amount)) {
    amount.invalid("a valid percent string must be a numeric string followed by an ending '%' "
                   "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')");
  }
  amount.not_negative();
}

std::int64_t amount_of(const Judged& amount) {
  return percent_of(amount).value_or(amount.number().value_or(0));
}

void check_strategy(const Judged& spec) {
  const Judged strategy = spec["strategy"];
  const Judged rolling = strategy["rollingUpdate"];
  const std::string_view type = strategy.text("type");
  if (type == "Recreate") {
    if (rolling) {
      rolling.forbidden("may not be specified when strategy `type` is 'Recreate'");
    }
    return;
  }
  if (type != "RollingUpdate") {
    spec.errors().push_back(unsupported_value(
        strategy.path(), fmt::format(R"({{"Type":{},"RollingUpdate":null}})", quote(type)),
        {"Recreate", "RollingUpdate"}));
    return;
  }
  const Judged unavailable = rolling["maxUnavailable"];
  check_amount(unavailable);
  check_amount(rolling["maxSurge"]);
  if (amount_of(unavailable) == 0 && amount_of(rolling["maxSurge"]) == 0) {
    unavailable.invalid("may not be 0 when `maxSurge` is 0");
  }
  if (percent_of(unavailable).value_or(0) > 100) {
    unavailable.invalid("must not be greater than 100%");
  }
}

void check_template_labels(const Judged& spec, const api::json::value* selector) {
  const Judged labels = spec["template"]["metadata"]["labels"];
  api::Labels held;
  for (const std::string& name : labels.names()) {
    held[name] = labels.text(name);
  }
  bool matches = false;
  if (selector != nullptr) {
    const auto parsed = api::parse_label_selector(*selector);
    if (!parsed) {
      return; // its requirements have been complained of
    }
    matches = parsed->matches(held);
  }
  if (!matches) {
    labels.invalid(labels ? api::to_json(*labels.json()) : "null",
                   "`selector` does not match template `labels`");
  }
}

void check_template(const Judged& spec, std::string_view kind) {
  const Judged pod = spec["template"];
  check_pod_template(pod);
  const Judged policy = pod["spec"]["restartPolicy"];
  if (policy && policy.text() != "Always") {
    policy.unsupported({"Always"});
  }
  if (pod["spec"].has("activeDeadlineSeconds")) {
    pod["spec"]["activeDeadlineSeconds"].forbidden(
        fmt::format("activeDeadlineSeconds in {} is not Supported", kind));
  }
}

void check_selector(const Judged& spec) {
  const Judged selector = spec["selector"];
  if (!selector) {
    selector.required();
    return;
  }
  check_label_selector(selector);
  if (selector.size("matchLabels") + selector.size("matchExpressions") == 0) {
    selector.invalid("empty selector is invalid for deployment");
  }
}

void check_deployment(const Judged& spec) {
  spec["replicas"].not_negative();
  check_selector(spec);
  check_template_labels(spec, spec["selector"].json());
  check_template(spec, "ReplicaSet");
  check_strategy(spec);
  spec["minReadySeconds"].not_negative();
  spec["revisionHistoryLimit"].not_negative();
  const Judged deadline = spec["progressDeadlineSeconds"];
  deadline.not_negative();
  if (deadline && deadline.number().value_or(0) <= spec.number("minReadySeconds").value_or(0)) {
    deadline.invalid("must be greater than minReadySeconds");
  }
}

void check_replica_set(const Judged& spec) {
  spec["replicas"].not_negative();
  spec["minReadySeconds"].not_negative();
  check_selector(spec);
  check_template_labels(spec, spec["selector"].json());
  check_template(spec, "ReplicaSet");
}

void check_controller(const Judged& spec) {
  spec["minReadySeconds"].not_negative();
  const Judged selector = spec["selector"];
  if (selector.size() == 0) {
    selector.required();
  }
  spec["replicas"].not_negative();
  if (!spec.has("template")) {
    spec["template"].required();
    return;
  }
  if (selector.size() > 0) {
    const api::json::value wanted{{"matchLabels", *selector.json()}};
    check_template_labels(spec, &wanted);
  }
  check_template(spec, "ReplicationController");
}

} // namespace

Result<void> default_controller(const AdmissionRequest& request, api::json::value& document) {
  api::json::object& whole = document.as_object();
  api::json::object* spec = object_in(whole, "spec");
  if (request.kind != kControllers || spec == nullptr) {
    return {};
  }
  set_default(*spec, "replicas", 1);
  set_default(whole, "status", api::json::object{{"replicas", 0}});
  api::json::object* pod = object_in(*spec, "template");
  if (pod == nullptr) {
    return {};
  }
  if (api::json::object* pod_spec = object_in(*pod, "spec")) {
    default_pod_spec(*pod_spec);
  }
  api::json::object* meta = object_in(*pod, "metadata");
  const api::json::object* labels = meta == nullptr ? nullptr : object_in(*meta, "labels");
  if (labels != nullptr) {
    const api::json::object given = *labels;
    set_default(*spec, "selector", given);
    set_default(api::object_at(whole, "metadata"), "labels", given);
  }
  return {};
}

void check_replicas(const AdmissionRequest& request, const api::Object& object,
                    FieldErrors& errors) {
  const GroupKind& kind = request.kind;
  if ((kind != kDeployments && kind != kReplicaSets && kind != kControllers) ||
      request.subresource == Subresource::Status) {
    return;
  }
  const Judged spec(api::find(object.json(), "spec"), "spec", errors);
  if (kind == kDeployments) {
    check_deployment(spec);
  } else if (kind == kReplicaSets) {
    check_replica_set(spec);
  } else {
    check_controller(spec);
  }
  if (request.before != nullptr && kind != kControllers) {
    check_immutable(Judged(api::find(request.before->json(), "spec"), "spec", errors), spec,
                    "selector");
  }
}

} // namespace berth::store
