#include "berth/server/access/rbac_admission.h"

#include <string>
#include <utility>

#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/server/access/rbac_objects.h"
#include "berth/store/errors.h"
#include "berth/store/naming.h"

namespace berth::server {
namespace {

using store::FieldErrors;
using store::quote;

bool is_role(const store::GroupKind& kind) {
  return kind == kRoles || kind == kClusterRoles;
}

bool is_binding(const store::GroupKind& kind) {
  return kind == kRoleBindings || kind == kClusterRoleBindings;
}

void default_group(api::json::object& of) {
  const api::json::value* group = of.if_contains("apiGroup");
  if (group == nullptr || group->is_null() || *group == api::json::value("")) {
    of["apiGroup"] = kRbacGroup;
  }
}

std::string json_list(const std::vector<std::string>& words) {
  return api::to_json(api::json::array(words.begin(), words.end()));
}

void check_rule(const PolicyRule& rule, bool namespaced, const std::string& at,
                FieldErrors& errors) {
  if (rule.verbs.empty()) {
    errors.push_back(store::required_field(at + ".verbs", "verbs must contain at least one value"));
  }
  if (!rule.non_resource_urls.empty()) {
    const auto refuse = [&](std::string_view why) {
      errors.push_back(
          store::invalid_value(at + ".nonResourceURLs", json_list(rule.non_resource_urls), why));
    };
    if (namespaced) {
      refuse("namespaced rules cannot apply to non-resource URLs");
    }
    if (!rule.api_groups.empty() || !rule.resources.empty() || !rule.resource_names.empty()) {
      refuse("rules cannot apply to both regular resources and non-resource URLs");
    }
    return;
  }
  if (rule.api_groups.empty()) {
    errors.push_back(store::required_field(at + ".apiGroups",
                                           "resource rules must supply at least one api group"));
  }
  if (rule.resources.empty()) {
    errors.push_back(store::required_field(at + ".resources",
                                           "resource rules must supply at least one resource"));
  }
}

Result<void> check_role(const store::GroupKind& kind, const api::Object& object,
                        FieldErrors& errors) {
  BERTH_TRY(const PolicyRules rules, rules_of(object.json()));
  for (std::size_t i = 0; i < rules.size(); ++i) {
    check_rule(rules[i], kind == kRoles, fmt::format("rules[{}]", i), errors);
  }
  const api::json::value* aggregation = api::find(object.json(), "aggregationRule");
  if (kind == kRoles || aggregation == nullptr) {
    return {};
  }
  const std::string at = "aggregationRule.clusterRoleSelectors";
  const api::json::value* selectors = api::find(*aggregation, "clusterRoleSelectors");
  if (selectors == nullptr || !selectors->is_array() || selectors->get_array().empty()) {
    errors.push_back(store::required_field(
        at, "at least one clusterRoleSelector required if aggregationRule is non-nil"));
    return {};
  }
  for (std::size_t i = 0; i < selectors->get_array().size(); ++i) {
    const api::json::value& selector = selectors->get_array()[i];
    if (!api::parse_label_selector(selector)) {
      errors.push_back(store::invalid_value(fmt::format("{}[{}]", at, i), api::to_json(selector),
                                            "invalid label selector"));
    }
  }
  return {};
}

void check_subject(const Subject& subject, bool namespaced, const std::string& at,
                   FieldErrors& errors) {
  if (subject.name.empty()) {
    errors.push_back(store::required_field(at + ".name"));
  }
  if (subject.kind == "ServiceAccount") {
    if (!subject.name.empty()) {
      store::add_invalid(errors, at + ".name", subject.name, store::subdomain_errors(subject.name));
    }
    if (!subject.api_group.empty()) {
      errors.push_back(store::unsupported_value(at + ".apiGroup", quote(subject.api_group), {""}));
    }
    if (!namespaced && subject.ns.empty()) {
      errors.push_back(store::required_field(at + ".namespace"));
    }
  } else if (subject.kind == "User" || subject.kind == "Group") {
    if (subject.api_group != kRbacGroup) {
      errors.push_back(store::unsupported_value(at + ".apiGroup", quote(subject.api_group),
                                                {std::string(kRbacGroup)}));
    }
  } else {
    errors.push_back(store::unsupported_value(at + ".kind", quote(subject.kind),
                                              {"ServiceAccount", "User", "Group"}));
  }
}

std::vector<std::string> segment_errors(std::string_view name) {
  if (name == "." || name == "..") {
    return {fmt::format("may not be '{}'", name)};
  }
  std::vector<std::string> errors;
  for (const char c : {'/', '%'}) {
    if (name.find(c) != std::string_view::npos) {
      errors.push_back(fmt::format("may not contain '{}'", c));
    }
  }
  return errors;
}

void check_role_ref(const RoleRef& role, bool namespaced, FieldErrors& errors) {
  if (role.api_group != kRbacGroup) {
    errors.push_back(store::unsupported_value("roleRef.apiGroup", quote(role.api_group),
                                              {std::string(kRbacGroup)}));
  }
  if (role.kind != "ClusterRole" && (!namespaced || role.kind != "Role")) {
    errors.push_back(store::unsupported_value("roleRef.kind", quote(role.kind),
                                              namespaced
                                                  ? std::vector<std::string>{"Role", "ClusterRole"}
                                                  : std::vector<std::string>{"ClusterRole"}));
  }
  if (role.name.empty()) {
    errors.push_back(store::required_field("roleRef.name"));
  }
  store::add_invalid(errors, "roleRef.name", role.name, segment_errors(role.name));
}

Result<void> check_binding(const store::AdmissionRequest& request, const api::Object& object,
                           FieldErrors& errors) {
  const bool namespaced = request.kind == kRoleBindings;
  BERTH_TRY(const RoleBinding binding, binding_of(object));
  check_role_ref(binding.role, namespaced, errors);
  for (std::size_t i = 0; i < binding.subjects.size(); ++i) {
    check_subject(binding.subjects[i], namespaced, fmt::format("subjects[{}]", i), errors);
  }
  if (request.before == nullptr) {
    return {};
  }
  BERTH_TRY(const RoleBinding before, binding_of(*request.before));
  if (before.role != binding.role) {
    const api::json::object shown{{"APIGroup", binding.role.api_group},
                                  {"Kind", binding.role.kind},
                                  {"Name", binding.role.name}};
    errors.push_back(store::invalid_value("roleRef", api::to_json(shown), "cannot change roleRef"));
  }
  return {};
}

} // namespace

Result<void> default_binding(const store::AdmissionRequest& request, api::json::value& document) {
  if (!is_binding(request.kind) || !document.is_object()) {
    return {};
  }
  api::json::object& binding = document.get_object();
  if (api::json::value* role = binding.if_contains("roleRef");
      role != nullptr && role->is_object()) {
    default_group(role->get_object());
  }
  api::json::value* subjects = binding.if_contains("subjects");
  if (subjects == nullptr || !subjects->is_array()) {
    return {};
  }
  for (api::json::value& subject : subjects->get_array()) {
    const std::string_view kind = api::string_at(subject, "kind");
    if (kind == "User" || kind == "Group") {
      default_group(subject.get_object());
    }
  }
  return {};
}

Result<void> validate_rbac(const store::AdmissionRequest& request, const api::Object& object) {
  FieldErrors errors;
  if (is_role(request.kind)) {
    BERTH_CHECK(check_role(request.kind, object, errors));
  } else if (is_binding(request.kind)) {
    BERTH_CHECK(check_binding(request, object, errors));
  }
  if (!errors.empty()) {
    return store::invalid(request.kind, object.meta().name, std::move(errors));
  }
  return {};
}

store::Admission with_rbac(store::Admission chain) {
  chain.defaults.push_back(&default_binding);
  chain.validate.push_back(&validate_rbac);
  return chain;
}

} // namespace berth::server
