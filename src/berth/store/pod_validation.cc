#include "berth/store/pod_validation.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "berth/store/container_validation.h"
#include "berth/store/document.h"
#include "berth/store/naming.h"

namespace berth::store {
namespace {

using api::json::array;
using api::json::object;
using api::json::value;

constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr std::string_view kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";

/// Calls `check` with each object of an array member and its field path.
template <class F>
void each(const object& parent, std::string_view member, const std::string& path, const F& check) {
  const value* found = parent.if_contains(member);
  if (found == nullptr || !found->is_array()) {
    return;
  }
  for (std::size_t i = 0; i < found->get_array().size(); ++i) {
    if (const object* one = found->get_array()[i].if_object()) {
      check(*one, fmt::format("{}.{}[{}]", path, member, i));
    }
  }
}

const object* object_at(const object& parent, std::string_view member) {
  const value* found = parent.if_contains(member);
  return found == nullptr ? nullptr : found->if_object();
}

void check_toleration(const object& toleration, const std::string& at, FieldErrors& errors) {
  const std::string_view key = text_at(toleration, "key");
  const std::string_view op = text_at(toleration, "operator");
  const std::string_view text = text_at(toleration, "value");
  const std::string_view effect = text_at(toleration, "effect");
  if (!key.empty()) {
    add_invalid(errors, at + ".key", key, qualified_name_errors(key));
  } else if (op != "Exists") {
    errors.push_back(invalid_value(at + ".operator", quote(op),
                                   "operator must be Exists when `key` is empty, which means "
                                   "\"match all values and all keys\""));
  }
  if (has(toleration, "tolerationSeconds") && effect != "NoExecute") {
    errors.push_back(invalid_value(at + ".effect", quote(effect),
                                   "effect must be 'NoExecute' when `tolerationSeconds` is set"));
  }
  if (op == "Exists") {
    if (!text.empty()) {
      errors.push_back(invalid_value(at + ".operator", quote(text),
                                     "value must be empty when `operator` is 'Exists'"));
    }
  } else if (op == "Equal" || op.empty()) {
    add_invalid(errors, at + ".operator", text, label_value_errors(text));
  } else {
    errors.push_back(unsupported_value(at + ".operator", quote(op), {"Equal", "Exists"}));
  }
  if (!effect.empty() && effect != "NoSchedule" && effect != "PreferNoSchedule" &&
      effect != "NoExecute") {
    errors.push_back(unsupported_value(at + ".effect", quote(effect),
                                       {"NoSchedule", "PreferNoSchedule", "NoExecute"}));
  }
}

void check_node_selector(const object& spec, const std::string& path, FieldErrors& errors) {
  const object* selector = object_at(spec, "nodeSelector");
  if (selector == nullptr) {
    return;
  }
  for (const auto& entry : *selector) {
    add_invalid(errors, path + ".nodeSelector", entry.key(), qualified_name_errors(entry.key()));
    const std::string_view text = text_at(*selector, entry.key());
    add_invalid(errors, path + ".nodeSelector", text, label_value_errors(text));
  }
}

void check_weight(const object& term, const std::string& at, FieldErrors& errors) {
  const value* weight = term.if_contains("weight");
  const std::int64_t number = weight != nullptr && weight->is_int64() ? weight->get_int64() : 0;
  if (number < 1 || number > 100) {
    errors.push_back(
        invalid_value(at + ".weight", fmt::to_string(number), "must be in the range 1-100"));
  }
}

void check_node_affinity(const object& affinity, const std::string& path, FieldErrors& errors) {
  if (const object* required = object_at(affinity, kRequired)) {
    const value* terms = required->if_contains("nodeSelectorTerms");
    if (terms == nullptr || !terms->is_array() || terms->get_array().empty()) {
      errors.push_back(required_field(fmt::format("{}.{}.nodeSelectorTerms", path, kRequired),
                                      "must have at least one node selector term"));
    }
  }
  each(affinity, kPreferred, path,
       [&](const object& term, const std::string& at) { check_weight(term, at, errors); });
}

void check_topology_key(const object& term, const std::string& at, FieldErrors& errors) {
  const std::string_view key = text_at(term, "topologyKey");
  if (key.empty()) {
    errors.push_back(required_field(at + ".topologyKey", "can not be empty"));
  }
  add_invalid(errors, at + ".topologyKey", key, qualified_name_errors(key));
}

void check_pod_affinity(const object& affinity, const std::string& path, FieldErrors& errors) {
  each(affinity, kRequired, path,
       [&](const object& term, const std::string& at) { check_topology_key(term, at, errors); });
  each(affinity, kPreferred, path, [&](const object& weighted, const std::string& at) {
    check_weight(weighted, at, errors);
    if (const object* term = object_at(weighted, "podAffinityTerm")) {
      check_topology_key(*term, at + ".podAffinityTerm", errors);
    }
  });
}

void check_affinity(const object& spec, const std::string& path, FieldErrors& errors) {
  const object* affinity = object_at(spec, "affinity");
  if (affinity == nullptr) {
    return;
  }
  if (const object* node = object_at(*affinity, "nodeAffinity")) {
    check_node_affinity(*node, path + ".affinity.nodeAffinity", errors);
  }
  for (const std::string_view kind : {"podAffinity", "podAntiAffinity"}) {
    if (const object* pod = object_at(*affinity, kind)) {
      check_pod_affinity(*pod, fmt::format("{}.affinity.{}", path, kind), errors);
    }
  }
}

void check_spread(const object& constraint, const std::string& at, FieldErrors& errors) {
  const value* skew = constraint.if_contains("maxSkew");
  const std::int64_t number = skew != nullptr && skew->is_int64() ? skew->get_int64() : 0;
  if (number <= 0) {
    errors.push_back(
        invalid_value(at + ".maxSkew", fmt::to_string(number), "must be greater than zero"));
  }
  const std::string_view key = text_at(constraint, "topologyKey");
  if (key.empty()) {
    errors.push_back(required_field(at + ".topologyKey", "can not be empty"));
  } else {
    add_invalid(errors, at + ".topologyKey", key, qualified_name_errors(key));
  }
  const std::string_view when = text_at(constraint, "whenUnsatisfiable");
  if (when != "DoNotSchedule" && when != "ScheduleAnyway") {
    errors.push_back(unsupported_value(at + ".whenUnsatisfiable", quote(when),
                                       {"DoNotSchedule", "ScheduleAnyway"}));
  }
}

void check_gates(const object& spec, const std::string& path, FieldErrors& errors) {
  std::vector<std::string> seen;
  each(spec, "schedulingGates", path, [&](const object& gate, const std::string& at) {
    const std::string name(text_at(gate, "name"));
    add_invalid(errors, at, name, qualified_name_errors(name));
    if (std::ranges::find(seen, name) != seen.end()) {
      errors.push_back(duplicate_value(at, quote(name)));
    }
    seen.push_back(name);
  });
  if (!seen.empty() && !text_at(spec, "nodeName").empty()) {
    errors.push_back(forbidden_field(path + ".nodeName",
                                     "cannot be set until all schedulingGates have been cleared"));
  }
}

void check_claims(const object& spec, const std::string& path, FieldErrors& errors) {
  each(spec, "resourceClaims", path, [&](const object& claim, const std::string& at) {
    const bool direct = has(claim, "resourceClaimName");
    const bool from_template = has(claim, "resourceClaimTemplateName");
    if (direct == from_template) {
      const auto shown = [&](std::string_view member) {
        return has(claim, member) ? quote(text_at(claim, member)) : std::string("null");
      };
      errors.push_back(invalid_value(
          at,
          fmt::format(R"({{"Name":{},"ResourceClaimName":{},"ResourceClaimTemplateName":{}}})",
                      quote(text_at(claim, "name")), shown("resourceClaimName"),
                      shown("resourceClaimTemplateName")),
          direct
              ? "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
              : "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"));
    }
  });
}

void check_scheduling(const object& spec, const std::string& path, FieldErrors& errors) {
  check_node_selector(spec, path, errors);
  check_affinity(spec, path, errors);
  const std::string_view node = text_at(spec, "nodeName");
  if (!node.empty()) {
    add_invalid(errors, path + ".nodeName", node, subdomain_errors(node));
  }
  each(spec, "tolerations", path, [&](const object& toleration, const std::string& at) {
    check_toleration(toleration, at, errors);
  });
  each(spec, "topologySpreadConstraints", path,
       [&](const object& constraint, const std::string& at) {
         check_spread(constraint, at, errors);
       });
  check_gates(spec, path, errors);
  check_claims(spec, path, errors);
}

void check_new_pod(const value& spec, FieldErrors& errors) {
  if (!spec.is_object()) {
    errors.push_back(required_field("spec.containers"));
    return;
  }
  const object& fields = spec.get_object();
  check_containers(fields, "spec", errors);
  const std::string_view restart = text_at(fields, "restartPolicy");
  if (restart != "Always" && restart != "OnFailure" && restart != "Never") {
    errors.push_back(
        unsupported_value("spec.restartPolicy", quote(restart), {"Always", "OnFailure", "Never"}));
  }
  const value* deadline = fields.if_contains("activeDeadlineSeconds");
  if (deadline != nullptr && deadline->is_int64() &&
      (deadline->get_int64() < 1 || deadline->get_int64() > INT32_MAX)) {
    errors.push_back(invalid_value("spec.activeDeadlineSeconds",
                                   fmt::to_string(deadline->get_int64()),
                                   "must be between 1 and 2147483647, inclusive"));
  }
  check_scheduling(fields, "spec", errors);
}

void set_images(const value* from, object& spec, std::string_view list) {
  const value* source = from == nullptr ? nullptr : api::find(*from, list);
  value* target = spec.if_contains(list);
  if (source == nullptr || target == nullptr || !source->is_array() || !target->is_array() ||
      source->get_array().size() != target->get_array().size()) {
    return;
  }
  for (std::size_t i = 0; i < target->get_array().size(); ++i) {
    object* container = target->get_array()[i].if_object();
    if (container != nullptr) {
      (*container)["image"] = value(api::string_at(source->get_array()[i], "image"));
    }
  }
}

/// Gates may only be taken away.
void check_gates_shrink(const value& before, const value& now, FieldErrors& errors) {
  std::vector<std::string> had;
  each(before.get_object(), "schedulingGates", "spec",
       [&](const object& gate, const std::string&) { had.emplace_back(text_at(gate, "name")); });
  each(now.get_object(), "schedulingGates", "spec", [&](const object& gate, const std::string& at) {
    const std::string_view name = text_at(gate, "name");
    if (std::ranges::find(had, name) == had.end()) {
      errors.push_back(forbidden_field(
          at + ".name",
          fmt::format("only deletion is allowed, but found new scheduling gate '{}'", name)));
    }
  });
}

value without_seconds(const object& toleration) {
  object copy = toleration;
  copy.erase("tolerationSeconds");
  return copy;
}

/// Tolerations may be added and their seconds changed.
void check_tolerations_grow(const value& before, const value& now, FieldErrors& errors) {
  std::vector<value> have;
  each(now.get_object(), "tolerations", "spec", [&](const object& toleration, const std::string&) {
    have.push_back(without_seconds(toleration));
  });
  bool kept = true;
  each(before.get_object(), "tolerations", "spec",
       [&](const object& toleration, const std::string&) {
         kept = kept && std::ranges::find(have, without_seconds(toleration)) != have.end();
       });
  if (!kept) {
    errors.push_back(
        forbidden_field("spec.tolerations",
                        "existing toleration can not be modified except its tolerationSeconds"));
  }
}

/// The stored spec with everything of `now` that may change.
object with_mutable_fields(const value& before, const value& now) {
  object spec = before.get_object();
  for (const std::string_view list : {"containers", "initContainers"}) {
    set_images(&now, spec, list);
  }
  std::vector<std::string_view> fields = {"activeDeadlineSeconds", "tolerations",
                                          "schedulingGates"};
  const value* grace = api::find(before, "terminationGracePeriodSeconds");
  if (grace != nullptr && grace->is_int64() && grace->get_int64() < 0) {
    fields.emplace_back("terminationGracePeriodSeconds");
  }
  const value* gates = api::find(before, "schedulingGates");
  if (gates != nullptr && gates->is_array() && !gates->get_array().empty()) {
    fields.emplace_back("nodeSelector");
    fields.emplace_back("affinity");
  }
  for (const std::string_view field : fields) {
    if (const value* next = now.get_object().if_contains(field)) {
      spec[field] = *next;
    } else {
      spec.erase(field);
    }
  }
  return spec;
}

void check_changed_pod(const api::Object& before, const api::Object& now, FieldErrors& errors) {
  const value* old = api::find(before.json(), "spec");
  const value* next = api::find(now.json(), "spec");
  if (old == nullptr || next == nullptr || *old == *next) {
    return;
  }
  check_gates_shrink(*old, *next, errors);
  check_tolerations_grow(*old, *next, errors);
  if (with_mutable_fields(*old, *next) != next->get_object()) {
    errors.push_back(forbidden_field(
        "spec",
        "pod updates may not change fields other than "
        "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
        "`spec.tolerations` (only additions to existing tolerations),"
        "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously "
        "negative)"));
  }
}

} // namespace

void check_pod_template_spec(const value& spec, const std::string& path, FieldErrors& errors) {
  if (!spec.is_object()) {
    errors.push_back(required_field(path + ".containers"));
    return;
  }
  check_containers(spec.get_object(), path, errors);
  check_scheduling(spec.get_object(), path, errors);
}

Result<void> check_pod(const AdmissionRequest& request, const api::Object& object) {
  if (request.kind != kPods || request.subresource == Subresource::Status) {
    return {};
  }
  FieldErrors errors;
  if (request.before != nullptr) {
    check_changed_pod(*request.before, object, errors);
  } else {
    const value* spec = api::find(object.json(), "spec");
    check_new_pod(spec == nullptr ? value() : *spec, errors);
  }
  if (!errors.empty()) {
    return invalid(request.kind, object.meta().name, std::move(errors));
  }
  return {};
}

} // namespace berth::store
