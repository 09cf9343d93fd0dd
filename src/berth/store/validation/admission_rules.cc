#include "berth/store/validation/admission_rules.h"

#include <algorithm>
#include <array>
#include <set>

#include "berth/store/document.h"
#include "berth/store/naming.h"
#include "berth/store/validation/formats.h"
#include "berth/store/validation/metadata.h"
#include "berth/store/validation/webhooks.h"

namespace berth::store {
namespace {

using api::json::object;
using Names = std::set<std::string, std::less<>>;

constexpr std::string_view kGroup = "admissionregistration.k8s.io";
constexpr std::size_t kMaxConditions = 64;
constexpr std::size_t kMaxAnnotations = 20;
constexpr std::size_t kLongestAnnotation = std::size_t{5} * 1024;

bool is_webhooks(const GroupKind& kind) {
  return kind.kind == "ValidatingWebhookConfiguration" ||
         kind.kind == "MutatingWebhookConfiguration";
}

// ---- defaults
void default_selection(object& of) {
  set_default(of, "matchPolicy", "Equivalent");
  set_default(of, "namespaceSelector", object());
  set_default(of, "objectSelector", object());
  for (const std::string_view list : {"rules", "resourceRules", "excludeResourceRules"}) {
    each_in(of, list, [](object& rule) { set_default(rule, "scope", "*"); });
  }
}

void default_webhook(object& hook, bool mutates) {
  set_default(hook, "failurePolicy", "Fail");
  set_default(hook, "timeoutSeconds", 10);
  default_selection(hook);
  if (mutates) {
    set_default(hook, "reinvocationPolicy", "Never");
  }
  if (object* client = object_in(hook, "clientConfig")) {
    if (object* service = object_in(*client, "service")) {
      set_default(*service, "port", 443);
    }
  }
}

// ---- rules
bool has(const Judged& list, std::string_view wanted) {
  const api::json::array* all = list.array();
  return all != nullptr && std::ranges::any_of(*all, [&](const api::json::value& one) {
           return one.is_string() && std::string_view(one.get_string()) == wanted;
         });
}

void check_alone(const Judged& list, std::string_view others) {
  if (list.size() > 1 && has(list, "*")) {
    list.invalid(fmt::format("if '*' is present, must not specify other {}", others));
  }
}

void check_resources(const Judged& rule) {
  const Judged all = rule["resources"];
  if (all.size() == 0) {
    all.required();
  }
  Names whole; // "pods" of "pods/*"
  Names every; // "status" of "*/status"
  bool plain = false;
  rule.each("resources", [&](const Judged& one) {
    const std::string_view text = one.text();
    if (text.empty()) {
      one.required();
      return;
    }
    const std::size_t slash = text.find('/');
    if (slash == std::string_view::npos) {
      plain = text != "*";
      return;
    }
    const std::string_view resource = text.substr(0, slash);
    const std::string_view part = text.substr(slash + 1);
    if (whole.contains(resource)) {
      one.invalid(fmt::format("if '{}/*' is present, must not specify {}", resource, text));
    }
    if (every.contains(part)) {
      one.invalid(fmt::format("if '*/{}' is present, must not specify {}", part, text));
    }
    if (part == "*") {
      whole.emplace(resource);
    }
    if (resource == "*") {
      every.emplace(part);
    }
  });
  if (all.size() > 1 && has(all, "*/*")) {
    all.invalid("if '*/*' is present, must not specify other resources");
  }
  if (has(all, "*") && plain) {
    all.invalid("if '*' is present, must not specify other resources without subresources");
  }
}

// ---- policies
void check_kind(const Judged& kind) {
  const Judged version = kind["apiVersion"];
  const std::string_view text = version.text();
  const std::size_t slash = text.find('/');
  if (text.empty()) {
    version.required();
  } else if (std::ranges::count(text, '/') > 1) {
    version.invalid(fmt::format("unexpected GroupVersion string: {}", text));
  } else {
    const std::string_view group = slash == std::string_view::npos ? "" : text.substr(0, slash);
    const std::string_view number = slash == std::string_view::npos ? text : text.substr(slash + 1);
    const auto refuse = [&](std::string_view part, const std::vector<std::string>& whys) {
      if (!part.empty() && !whys.empty()) {
        version.invalid(quote(part), fmt::format("{}", fmt::join(whys, ",")));
      }
    };
    refuse(group, subdomain_errors(group));
    if (number.empty()) {
      version.invalid("version must be specified");
    }
    refuse(number, dns1035_label_errors(number));
  }
  const Judged name = kind["kind"];
  if (name.need_text()) {
    std::string lower(name.text());
    std::ranges::transform(lower, lower.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (const auto whys = dns1035_label_errors(lower); !whys.empty()) {
      name.invalid(
          fmt::format("may have mixed case, but should otherwise match: {}", fmt::join(whys, ",")));
    }
  }
}

void check_matched(const Judged& matched) {
  matched["matchPolicy"].one_of({"Equivalent", "Exact"});
  check_label_selector(matched["namespaceSelector"]);
  check_label_selector(matched["objectSelector"]);
  for (const std::string_view list : {"resourceRules", "excludeResourceRules"}) {
    matched.each(list, [](const Judged& rule) {
      Names names;
      rule.each("resourceNames", [&](const Judged& name) {
        name.invalid(path_segment_errors(name.text()));
        if (!names.emplace(name.text()).second) {
          name.duplicate();
        }
      });
      check_admission_rule(rule);
    });
  }
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

/// Nothing for an expression that is left out: others speak of that.
std::shared_ptr<const cel::Program> check_expression(const Judged& expression,
                                                     const PolicyScope& scope, PolicyResult wanted,
                                                     MayAskRights rights) {
  auto made = scope.compile(expression.text(), wanted, rights);
  if (!made) {
    expression.invalid(made.error().message);
    return nullptr;
  }
  return *std::move(made);
}

void check_message(const Judged& message) {
  const std::string_view text = message.text();
  if (!text.empty() && is_blank(text)) {
    message.invalid("message must be non-empty if specified");
  } else if (const std::size_t last = text.find_last_not_of(" \t\r\n");
             last != std::string_view::npos &&
             text.substr(text.find_first_not_of(" \t\r\n"), last + 1).find('\n') < last) {
    message.invalid("message must not contain line breaks");
  }
}

void check_validation(const Judged& one, const PolicyScope& scope) {
  if (is_blank(one.text("expression"))) {
    one["expression"].required("expression is not specified");
  } else {
    check_expression(one["expression"], scope, PolicyResult::Bool, MayAskRights::Yes);
  }
  if (!one.text("messageExpression").empty() && is_blank(one.text("messageExpression"))) {
    one["messageExpression"].invalid("must be non-empty if specified");
  } else if (!one.text("messageExpression").empty()) {
    check_expression(one["messageExpression"], scope, PolicyResult::Text, MayAskRights::No);
  }
  check_message(one["message"]);
  one["reason"].one_of({"Forbidden", "Invalid", "RequestEntityTooLarge"});
}

bool is_cel_identifier(std::string_view name) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return letter(name.front()) && cel::escaped(name) == name &&
         std::ranges::all_of(name, [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

void check_variable(const Judged& variable, PolicyScope& scope) {
  const std::string_view name = variable.text("name");
  if (is_blank(name)) {
    variable["name"].required("name is not specified");
  } else if (!is_cel_identifier(name)) {
    variable["name"].invalid("name is not a valid CEL identifier");
  }
  if (is_blank(variable.text("expression"))) {
    variable["expression"].required("expression is not specified");
    return;
  }
  const auto made =
      check_expression(variable["expression"], scope, PolicyResult::Anything, MayAskRights::Yes);
  scope.add_variable(std::string(name),
                     made == nullptr ? cel::simple(cel::Kind::Dyn) : made->type());
}

void check_annotation(const Judged& annotation, std::string_view policy, const PolicyScope& scope) {
  const Judged key = annotation["key"];
  if (policy.empty()) {
    key.invalid("requires metadata.name be non-empty");
  } else {
    const std::string whole = fmt::format("{}/{}", policy, key.text());
    for (const std::string& why : qualified_name_errors(whole)) {
      key.invalid(quote(whole), why);
    }
  }
  const Judged value = annotation["valueExpression"];
  if (is_blank(value.text())) {
    value.required("valueExpression is not specified");
  } else if (value.text().size() > kLongestAnnotation) {
    value.required(fmt::format("must not exceed {} bytes in length", kLongestAnnotation));
  } else {
    check_expression(value, scope, PolicyResult::TextOrNull, MayAskRights::Yes);
  }
}

void check_annotations(const Judged& spec, std::string_view policy, const PolicyScope& scope) {
  if (spec.size("auditAnnotations") > kMaxAnnotations) {
    spec["auditAnnotations"].invalid(
        fmt::format("must not have more than {} auditAnnotations", kMaxAnnotations));
  }
  Names keys;
  spec.each("auditAnnotations", [&](const Judged& annotation) {
    check_annotation(annotation, policy, scope);
    if (!keys.emplace(annotation.text("key")).second) {
      annotation["key"].duplicate();
    }
  });
}

void check_policy(const Judged& spec, std::string_view name) {
  spec["failurePolicy"].one_of({"Fail", "Ignore"});
  if (spec.has("paramKind")) {
    check_kind(spec["paramKind"]);
  }
  const Judged matched = spec["matchConstraints"];
  if (!matched) {
    matched.required();
  } else {
    check_matched(matched);
    if (matched.size("resourceRules") == 0) {
      matched["resourceRules"].required();
    }
  }
  const auto params =
      spec.has("paramKind") ? PolicyScope::Params::Given : PolicyScope::Params::None;
  check_match_conditions(spec, params);
  PolicyScope scope(params, PolicyScope::Variables::Composed);
  spec.each("variables", [&](const Judged& variable) { check_variable(variable, scope); });
  if (spec.size("validations") == 0 && spec.size("auditAnnotations") == 0) {
    for (const std::string_view list : {"validations", "auditAnnotations"}) {
      spec[list].required("validations or auditAnnotations must contain at least one item");
    }
    return;
  }
  spec.each("validations", [&](const Judged& one) { check_validation(one, scope); });
  check_annotations(spec, name, scope);
}

void check_binding(const Judged& spec) {
  if (spec["policyName"].need_text()) {
    spec["policyName"].dns_subdomain();
  }
  if (const Judged reference = spec["paramRef"]) {
    const bool named = !reference.text("name").empty();
    const bool selected = reference.has("selector");
    reference["name"].invalid(path_segment_errors(reference.text("name")));
    check_label_selector(reference["selector"]);
    if (named && selected) {
      for (const std::string_view member : {"name", "selector"}) {
        reference[member].forbidden("name and selector are mutually exclusive");
      }
    } else if (!named && !selected) {
      reference.required("one of name or selector must be specified");
    }
    if (!reference.has("parameterNotFoundAction")) {
      reference["parameterNotFoundAction"].required();
    }
    reference["parameterNotFoundAction"].one_of({"Deny", "Allow"});
  }
  if (const Judged matched = spec["matchResources"]) {
    // The path is spelled as kube-apiserver spells it.
    check_matched(Judged(matched.json(), spec.path() + ".matchResouces", spec.errors()));
  }
  const Judged actions = spec["validationActions"];
  Names seen;
  spec.each("validationActions", [&](const Judged& action) {
    action.one_of({"Audit", "Deny", "Warn"});
    if (!seen.emplace(action.text()).second) {
      action.duplicate();
    }
  });
  if (seen.contains("Deny") && seen.contains("Warn")) {
    actions.invalid("must not contain both Deny and Warn (repeating the same validation failure "
                    "information in the API response and headers serves no purpose)");
  }
  if (seen.empty()) {
    actions.required("at least one validation action is required");
  }
}

} // namespace

void check_admission_rule(const Judged& rule) {
  const Judged operations = rule["operations"];
  if (operations.size() == 0) {
    operations.required();
  }
  check_alone(operations, "operations");
  rule.each("operations", [](const Judged& operation) {
    static const std::vector<std::string> kKnown = {"*", "CONNECT", "CREATE", "DELETE", "UPDATE"};
    if (std::ranges::find(kKnown, operation.text()) == kKnown.end()) {
      operation.unsupported(kKnown);
    }
  });
  if (rule.size("apiGroups") == 0) {
    rule["apiGroups"].required();
  }
  check_alone(rule["apiGroups"], "API groups");
  if (rule.size("apiVersions") == 0) {
    rule["apiVersions"].required();
  }
  check_alone(rule["apiVersions"], "API versions");
  rule.each("apiVersions", [](const Judged& version) { version.need_text(); });
  check_resources(rule);
  rule["scope"].one_of({"*", "Cluster", "Namespaced"});
}

void check_match_conditions(const Judged& of, PolicyScope::Params params) {
  if (of.size("matchConditions") > kMaxConditions) {
    of["matchConditions"].too_many(kMaxConditions);
  }
  Names names;
  const PolicyScope scope(params, PolicyScope::Variables::None);
  of.each("matchConditions", [&](const Judged& condition) {
    if (is_blank(condition.text("expression"))) {
      condition["expression"].required();
    } else {
      check_expression(condition["expression"], scope, PolicyResult::Bool, MayAskRights::Yes);
    }
    if (!condition["name"].need_text()) {
      return;
    }
    condition["name"].label_name();
    if (!names.emplace(condition.text("name")).second) {
      condition["name"].duplicate();
    }
  });
}

Result<void> default_admission_rules(const AdmissionRequest& request, api::json::value& document) {
  object& whole = document.as_object();
  if (request.kind.group != kGroup) {
    return {};
  }
  if (is_webhooks(request.kind)) {
    const bool mutates = request.kind.kind.starts_with("Mutating");
    each_in(whole, "webhooks", [&](object& hook) { default_webhook(hook, mutates); });
    return {};
  }
  object* spec = object_in(whole, "spec");
  if (spec == nullptr) {
    return {};
  }
  if (request.kind.kind == "ValidatingAdmissionPolicy") {
    set_default(*spec, "failurePolicy", "Fail");
  }
  for (const std::string_view member : {"matchConstraints", "matchResources"}) {
    if (object* matched = object_in(*spec, member)) {
      default_selection(*matched);
    }
  }
  return {};
}

void check_admission_rules(const AdmissionRequest& request, const api::Object& object,
                           FieldErrors& errors) {
  if (request.kind.group != kGroup || request.subresource != Subresource::None) {
    return;
  }
  const Judged whole(&object.json(), "", errors);
  const Judged before(request.before == nullptr ? nullptr : &request.before->json(), "", errors);
  if (is_webhooks(request.kind)) {
    check_webhooks(whole, before);
  } else if (request.kind.kind == "ValidatingAdmissionPolicy") {
    check_policy(whole["spec"], object.meta().name);
  } else if (request.kind.kind == "ValidatingAdmissionPolicyBinding") {
    check_binding(whole["spec"]);
  }
}

} // namespace berth::store
