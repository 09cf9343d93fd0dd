#include "berth/server/access/rbac_objects.h"

#include <algorithm>
#include <utility>

#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "berth/api/field.h"

namespace berth::server {
namespace {

using Words = std::vector<std::string>;

bool has(const Words& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

bool has_or_all(const Words& words, std::string_view word) {
  return std::ranges::any_of(words,
                             [&](const std::string& one) { return one == "*" || one == word; });
}

bool resource_matches(const Words& resources, const RequestInfo& what) {
  const std::string full =
      what.subresource.empty() ? what.resource : what.resource + "/" + what.subresource;
  return std::ranges::any_of(resources, [&](std::string_view one) {
    return one == "*" || one == full ||
           (!what.subresource.empty() && one.starts_with("*/") &&
            one.substr(2) == what.subresource);
  });
}

bool path_matches(const Words& urls, std::string_view path) {
  return std::ranges::any_of(urls, [&](std::string_view url) {
    if (url == path) {
      return true;
    }
    if (!url.ends_with('*')) {
      return false;
    }
    // As Go's TrimRight: every star at the end.
    const std::size_t last = url.find_last_not_of('*');
    return path.starts_with(url.substr(0, last == std::string_view::npos ? 0 : last + 1));
  });
}

boost::json::array words(const Words& from) {
  return boost::json::array(from.begin(), from.end());
}

struct Rules {
  PolicyRules rules;
};
void decode(const api::Field& in, Rules& out) {
  in.read("rules", out.rules);
}

struct BindingBody {
  RoleRef role;
  std::vector<Subject> subjects;
};
void decode(const api::Field& in, BindingBody& out) {
  in.read("roleRef", out.role);
  in.read("subjects", out.subjects);
}

} // namespace

bool allows(const PolicyRule& rule, const RequestInfo& what) {
  if (!has_or_all(rule.verbs, what.verb)) {
    return false;
  }
  if (!what.is_resource) {
    return path_matches(rule.non_resource_urls, what.path);
  }
  return has_or_all(rule.api_groups, what.group) && resource_matches(rule.resources, what) &&
         (rule.resource_names.empty() || has(rule.resource_names, what.name));
}

std::string account_user_name(std::string_view ns, std::string_view name) {
  return fmt::format("system:serviceaccount:{}:{}", ns, name);
}

void decode(const api::Field& in, PolicyRule& out) {
  in.read("verbs", out.verbs);
  in.read("apiGroups", out.api_groups);
  in.read("resources", out.resources);
  in.read("resourceNames", out.resource_names);
  in.read("nonResourceURLs", out.non_resource_urls);
}

void decode(const api::Field& in, RoleRef& out) {
  in.read("apiGroup", out.api_group);
  in.read("kind", out.kind);
  in.read("name", out.name);
}

void decode(const api::Field& in, Subject& out) {
  in.read("kind", out.kind);
  in.read("apiGroup", out.api_group);
  in.read("name", out.name);
  in.read("namespace", out.ns);
}

Result<PolicyRules> rules_of(const api::json::value& role) {
  BERTH_TRY(Rules read, api::decode_document<Rules>(role));
  return std::move(read.rules);
}

Result<RoleBinding> binding_of(const api::Object& object) {
  BERTH_TRY(BindingBody read, api::decode_document<BindingBody>(object.json()));
  return RoleBinding{.ns = object.meta().ns,
                     .name = object.meta().name,
                     .role = std::move(read.role),
                     .subjects = std::move(read.subjects)};
}

boost::json::array to_document(const PolicyRules& rules) {
  boost::json::array out;
  for (const PolicyRule& rule : rules) {
    boost::json::object one;
    const auto add = [&](std::string_view member, const Words& from) {
      if (!from.empty()) {
        one[member] = words(from);
      }
    };
    one["verbs"] = words(rule.verbs);
    add("apiGroups", rule.api_groups);
    add("resources", rule.resources);
    add("resourceNames", rule.resource_names);
    add("nonResourceURLs", rule.non_resource_urls);
    out.push_back(std::move(one));
  }
  return out;
}

} // namespace berth::server
