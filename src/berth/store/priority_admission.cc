#include "berth/store/priority_admission.h"

#include <optional>

#include <fmt/format.h>

#include "berth/model/workload.h"
#include "berth/store/document.h"
#include "berth/store/errors.h"

namespace berth::store {
namespace {

constexpr std::string_view kPreempt = "PreemptLowerPriority";
constexpr std::string_view kNever = "Never";
constexpr std::int64_t kHighestUserPriority = 1'000'000'000;
constexpr std::int64_t kClusterCritical = 2'000'000'000;
constexpr std::int64_t kNodeCritical = 2'000'001'000;

struct Resolved {
  std::string class_name;
  std::int64_t value = 0;
  std::string policy{kPreempt};
};

Resolved resolved(const model::PriorityClass& from) {
  return {.class_name = from.meta.name,
          .value = from.value,
          .policy =
              from.preemption_policy.empty() ? std::string(kPreempt) : from.preemption_policy};
}

std::optional<Resolved> system_class(std::string_view name) {
  if (name == "system-cluster-critical") {
    return Resolved{.class_name = std::string(name), .value = kClusterCritical};
  }
  if (name == "system-node-critical") {
    return Resolved{.class_name = std::string(name), .value = kNodeCritical};
  }
  return std::nullopt;
}

std::optional<Resolved> find_class(const Store& store, const std::string& name) {
  if (const auto object = store.get(kPriorityClasses, {"", name})) {
    if (const auto view = model::priority_class_view(*object)) {
      return resolved(**view);
    }
  }
  return system_class(name);
}

/// The class marked globalDefault, the lowest if several are; without one, priority 0.
Resolved default_class(const Store& store) {
  std::optional<Resolved> best;
  for (const api::Object& object : store.list({.kind = kPriorityClasses}).items) {
    const auto view = model::priority_class_view(object);
    if (view && (*view)->global_default && (!best || (*view)->value < best->value)) {
      best = resolved(**view);
    }
  }
  return best.value_or(Resolved());
}

/// Values a pod must not choose by itself.
Result<void> check_given(const api::json::object& spec, const Resolved& resolved,
                         const std::string& name) {
  constexpr std::string_view kTail =
      "must not be provided in pod spec; priority admission controller computed {} from the given "
      "PriorityClass name";
  const api::json::value* given = spec.if_contains("priority");
  if (given != nullptr && given->is_int64() && given->get_int64() != resolved.value) {
    return forbidden(kPods, name,
                     fmt::format("the integer value of priority ({}) ", given->get_int64()) +
                         fmt::format(fmt::runtime(kTail), resolved.value));
  }
  const std::string_view policy = text_at(spec, "preemptionPolicy");
  if (!policy.empty() && policy != resolved.policy) {
    return forbidden(kPods, name,
                     fmt::format("the string value of PreemptionPolicy ({}) ", policy) +
                         fmt::format(fmt::runtime(kTail), resolved.policy));
  }
  return {};
}

} // namespace

Result<void> resolve_priority(const AdmissionRequest& request, api::json::value& document) {
  api::json::object* spec = object_in(document.as_object(), "spec");
  if (request.kind != kPods || spec == nullptr) {
    return {};
  }
  if (request.before != nullptr) {
    // Classes may have changed since; the pod keeps what it was created with.
    for (const std::string_view field : {"priority", "preemptionPolicy"}) {
      const api::json::value* stored = api::find_path(request.before->json(), "spec");
      const api::json::value* old = stored == nullptr ? nullptr : api::find(*stored, field);
      if (old != nullptr) {
        set_default(*spec, field, *old);
      }
    }
    return {};
  }
  const std::string name(api::string_at(document, "metadata.name"));
  const std::string class_name(text_at(*spec, "priorityClassName"));
  const auto found =
      class_name.empty() ? default_class(*request.store) : find_class(*request.store, class_name);
  if (!found) {
    return forbidden(kPods, name,
                     fmt::format("no PriorityClass with name {} was found", class_name));
  }
  BERTH_CHECK(check_given(*spec, *found, name));
  if (!found->class_name.empty()) {
    (*spec)["priorityClassName"] = found->class_name;
  }
  (*spec)["priority"] = found->value;
  (*spec)["preemptionPolicy"] = found->policy;
  return {};
}

Result<void> default_priority_class(const AdmissionRequest& request, api::json::value& document) {
  if (request.kind == kPriorityClasses) {
    set_default(document.as_object(), "preemptionPolicy", api::json::value(kPreempt));
  }
  return {};
}

Result<void> check_priority_class(const AdmissionRequest& request, const api::Object& object) {
  if (request.kind != kPriorityClasses) {
    return {};
  }
  BERTH_TRY(const auto view, model::priority_class_view(object));
  const std::string& name = view->meta.name;
  FieldErrors errors;
  const bool is_system = system_class(name).has_value();
  if (name.starts_with("system-") && !is_system) {
    errors.push_back(forbidden_field(
        "metadata.name",
        "priority class names with 'system-' prefix are reserved for system use only. error: " +
            name + " is not a known system priority class"));
  } else if (view->value > kHighestUserPriority && !is_system) {
    errors.push_back(forbidden_field(
        "value", fmt::format("maximum allowed value of a user defined priority is {}",
                             kHighestUserPriority)));
  }
  if (const std::string_view policy = api::string_at(object.json(), "preemptionPolicy");
      policy != kPreempt && policy != kNever) {
    errors.push_back(policy.empty()
                         ? required_field("preemptionPolicy")
                         : unsupported_value("preemptionPolicy", quote(policy),
                                             {std::string(kPreempt), std::string(kNever)}));
  }
  if (request.before != nullptr) {
    if (const auto before = model::priority_class_view(*request.before)) {
      if ((*before)->value != view->value) {
        errors.push_back(forbidden_field("value", "may not be changed in an update."));
      }
      if ((*before)->preemption_policy != view->preemption_policy) {
        errors.push_back(invalid_value("preemptionPolicy", quote(view->preemption_policy),
                                       "field is immutable"));
      }
    }
  }
  if (!errors.empty()) {
    return invalid(request.kind, name, std::move(errors));
  }
  if (view->global_default) {
    const Resolved current = default_class(*request.store);
    if (!current.class_name.empty() && current.class_name != name) {
      return forbidden(
          request.kind, name,
          fmt::format("PriorityClass {} is already marked as default. Only one default can exist",
                      current.class_name));
    }
  }
  return {};
}

} // namespace berth::store
