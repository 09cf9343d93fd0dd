#include "berth/server/access/reviews.h"

#include <utility>
#include <vector>

#include <boost/json/array.hpp>
#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/store/errors.h"

namespace berth::server {
namespace {

namespace json = boost::json;

constexpr std::string_view kAuthorization = "authorization.k8s.io";

json::array list_of(const std::vector<std::string>& words) {
  return json::array(words.begin(), words.end());
}

std::vector<std::string> strings_of(const json::value* list) {
  std::vector<std::string> out;
  if (list != nullptr && list->is_array()) {
    for (const json::value& one : list->get_array()) {
      if (one.is_string()) {
        out.emplace_back(one.get_string());
      }
    }
  }
  return out;
}

/// kind, apiVersion, metadata, spec of the body, then the status.
json::object answered(const json::value& body, std::string_view kind, json::object status) {
  const json::value* meta = api::find(body, "metadata");
  const json::value* spec = api::find(body, "spec");
  json::object out{{"kind", kind}, {"apiVersion", "authorization.k8s.io/v1"}};
  out["metadata"] = meta != nullptr ? *meta : json::value(json::object());
  out["spec"] = spec != nullptr ? *spec : json::value(json::object());
  out["status"] = std::move(status);
  return out;
}

json::object status_of_decision(const Decision& decision) {
  json::object status{{"allowed", decision.allowed}};
  if (!decision.reason.empty()) {
    status["reason"] = decision.reason;
  }
  return status;
}

/// What spec asks; both kinds of attributes or none are refused by check_spec.
RequestInfo asked(const json::value& body) {
  RequestInfo what;
  const auto text = [&](std::string_view path) {
    return std::string(api::string_at(body, fmt::format("spec.{}", path)));
  };
  if (api::find_path(body, "spec.resourceAttributes") == nullptr) {
    what.verb = text("nonResourceAttributes.verb");
    what.path = text("nonResourceAttributes.path");
    return what;
  }
  what.is_resource = true;
  what.verb = text("resourceAttributes.verb");
  what.group = text("resourceAttributes.group");
  what.version = text("resourceAttributes.version");
  what.ns = text("resourceAttributes.namespace");
  what.resource = text("resourceAttributes.resource");
  what.subresource = text("resourceAttributes.subresource");
  what.name = text("resourceAttributes.name");
  return what;
}

User subject_of(const json::value& body) {
  User user{.name = std::string(api::string_at(body, "spec.user")),
            .uid = std::string(api::string_at(body, "spec.uid")),
            .groups = strings_of(api::find_path(body, "spec.groups")),
            .extra = {}};
  const json::value* extra = api::find_path(body, "spec.extra");
  if (extra != nullptr && extra->is_object()) {
    for (const auto& one : extra->get_object()) {
      user.extra[std::string(one.key())] = strings_of(&one.value());
    }
  }
  return user;
}

void check_attributes(const json::value& body, store::FieldErrors& errors) {
  const json::value* resource = api::find_path(body, "spec.resourceAttributes");
  const json::value* other = api::find_path(body, "spec.nonResourceAttributes");
  if (resource != nullptr && other != nullptr) {
    const json::object shown{{"Path", api::string_at(*other, "path")},
                             {"Verb", api::string_at(*other, "verb")}};
    errors.push_back(store::invalid_value("spec.nonResourceAttributes", api::to_json(shown),
                                          "cannot be specified in combination with "
                                          "resourceAttributes"));
  }
  if (resource == nullptr && other == nullptr) {
    errors.push_back(store::invalid_value("spec.resourceAttributes", "null",
                                          "exactly one of nonResourceAttributes or "
                                          "resourceAttributes must be specified"));
  }
}

void check_subject(const json::value& body, store::FieldErrors& errors) {
  if (api::string_at(body, "spec.user").empty() &&
      strings_of(api::find_path(body, "spec.groups")).empty()) {
    errors.push_back(store::invalid_value("spec.user", R"("")",
                                          "at least one of user or group must be specified"));
  }
}

void check_no_metadata(const json::value& body, store::FieldErrors& errors) {
  const json::value* meta = api::find(body, "metadata");
  if (meta == nullptr || !meta->is_object()) {
    return;
  }
  for (const auto& member : meta->get_object()) {
    if (member.key() != "managedFields" && !member.value().is_null()) {
      errors.push_back(store::invalid_value("metadata", api::to_json(*meta), "must be empty"));
      return;
    }
  }
}

tl::unexpected<Status> invalid(std::string_view kind, store::FieldErrors errors) {
  const auto error =
      store::invalid({std::string(kAuthorization), std::string(kind)}, "", std::move(errors));
  return tl::unexpected(status_of(error.value()));
}

} // namespace

json::object user_info(const User& user) {
  json::object out;
  if (!user.name.empty()) {
    out["username"] = user.name;
  }
  if (!user.uid.empty()) {
    out["uid"] = user.uid;
  }
  if (!user.groups.empty()) {
    out["groups"] = list_of(user.groups);
  }
  if (!user.extra.empty()) {
    json::object extra;
    for (const auto& [key, values] : user.extra) {
      extra[key] = list_of(values);
    }
    out["extra"] = std::move(extra);
  }
  return out;
}

Answer<json::object> review_access(const Rbac& rbac, const json::value& body) {
  store::FieldErrors errors;
  check_attributes(body, errors);
  check_subject(body, errors);
  check_no_metadata(body, errors);
  if (!errors.empty()) {
    return invalid("SubjectAccessReview", std::move(errors));
  }
  return answered(body, "SubjectAccessReview",
                  status_of_decision(rbac.authorize(subject_of(body), asked(body))));
}

Answer<json::object> review_local_access(const Rbac& rbac, const std::string& ns,
                                         const json::value& body) {
  store::FieldErrors errors;
  check_attributes(body, errors);
  check_subject(body, errors);
  const json::value* other = api::find_path(body, "spec.nonResourceAttributes");
  if (other != nullptr) {
    const json::object shown{{"Path", api::string_at(*other, "path")},
                             {"Verb", api::string_at(*other, "verb")}};
    errors.push_back(store::invalid_value("spec.nonResourceAttributes", api::to_json(shown),
                                          "disallowed on this kind of request"));
  }
  if (!errors.empty()) {
    return invalid("LocalSubjectAccessReview", std::move(errors));
  }
  const RequestInfo what = asked(body);
  if (what.ns != ns) {
    return bad_request(
        fmt::format("spec.resourceAttributes.namespace must match namespace: {}", ns));
  }
  return answered(body, "LocalSubjectAccessReview",
                  status_of_decision(rbac.authorize(subject_of(body), what)));
}

Answer<json::object> review_own_access(const Rbac& rbac, const User& user,
                                       const json::value& body) {
  store::FieldErrors errors;
  check_attributes(body, errors);
  check_no_metadata(body, errors);
  if (!errors.empty()) {
    return invalid("SelfSubjectAccessReview", std::move(errors));
  }
  return answered(body, "SelfSubjectAccessReview",
                  status_of_decision(rbac.authorize(user, asked(body))));
}

Answer<json::object> review_own_rules(const Rbac& rbac, const User& user, const json::value& body) {
  const std::string ns(api::string_at(body, "spec.namespace"));
  if (ns.empty()) {
    return bad_request("no namespace on request");
  }
  const Rbac::Held held = rbac.held(user, ns);
  PolicyRules resources;
  PolicyRules paths;
  for (const PolicyRule& rule : held.rules) {
    if (!rule.resources.empty()) {
      PolicyRule& one = resources.emplace_back(rule);
      one.non_resource_urls.clear();
    }
    if (!rule.non_resource_urls.empty()) {
      paths.push_back({.verbs = rule.verbs,
                       .api_groups = {},
                       .resources = {},
                       .resource_names = {},
                       .non_resource_urls = rule.non_resource_urls});
    }
  }
  json::object status{{"resourceRules", to_document(resources)},
                      {"nonResourceRules", to_document(paths)},
                      {"incomplete", false}};
  if (!held.missing.empty()) {
    status["evaluationError"] = Rbac::joined(held.missing);
  }
  return answered(body, "SelfSubjectRulesReview", std::move(status));
}

Answer<json::object> review_token(const Authenticator& authenticator, const json::value& body,
                                  TimePoint now) {
  const std::string_view token = api::string_at(body, "spec.token");
  if (token.empty()) {
    return bad_request("token is required for TokenReview in authentication");
  }
  const auto bearer =
      authenticator.review(token, strings_of(api::find_path(body, "spec.audiences")), now);
  json::object status;
  if (bearer) {
    status["authenticated"] = true;
    status["user"] = user_info(bearer->user);
    status["audiences"] = list_of(bearer->audiences);
  } else {
    status["user"] = json::object();
    status["error"] = "invalid bearer token";
  }
  json::object out = answered(body, "TokenReview", std::move(status));
  out["apiVersion"] = "authentication.k8s.io/v1";
  return out;
}

json::object review_self(const User& user, TimePoint now) {
  return {{"kind", "SelfSubjectReview"},
          {"apiVersion", "authentication.k8s.io/v1"},
          {"metadata", json::object{{"creationTimestamp", to_rfc3339(now)}}},
          {"status", json::object{{"userInfo", user_info(user)}}}};
}

} // namespace berth::server
