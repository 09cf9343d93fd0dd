#include "berth/server/policies/policy_match.h"

#include <algorithm>
#include <string_view>

#include "berth/api/json.h"
#include "berth/api/selector.h"

namespace berth::server {
namespace {

namespace json = boost::json;

bool lists(const json::value& rule, std::string_view member, std::string_view wanted,
           std::string_view any = "*") {
  const json::value* list = api::find(rule, member);
  return list != nullptr && list->is_array() &&
         std::ranges::any_of(list->get_array(), [&](const json::value& one) {
           return one.is_string() &&
                  (one.get_string() == wanted || (!any.empty() && one.get_string() == any));
         });
}

/// "pods", "pods/status", "*", "*/*", "*/status", "pods/*".
bool covers_resource(std::string_view written, const Review& review) {
  const std::size_t slash = written.find('/');
  const std::string_view resource = written.substr(0, slash);
  const std::string_view part =
      slash == std::string_view::npos ? std::string_view() : written.substr(slash + 1);
  return (resource == "*" || resource == review.resource) &&
         (part == "*" || part == review.subresource);
}

bool in_scope(const json::value& rule, const Review& review) {
  const std::string_view scope = api::string_at(rule, "scope");
  const bool cluster = review.of_namespace() || review.ns.empty();
  return scope == "Namespaced" ? !cluster : scope == "Cluster" ? cluster : true;
}

bool covers(const json::value& rule, const Review& review, std::string_view version) {
  const json::value* resources = api::find(rule, "resources");
  return in_scope(rule, review) && lists(rule, "operations", review.operation) &&
         lists(rule, "apiGroups", review.served.group) && lists(rule, "apiVersions", version) &&
         resources != nullptr && resources->is_array() &&
         std::ranges::any_of(resources->get_array(), [&](const json::value& one) {
           return one.is_string() && covers_resource(one.get_string(), review);
         });
}

bool covers_name(const json::value& rule, const Review& review) {
  const json::value* names = api::find(rule, "resourceNames");
  return names == nullptr || !names->is_array() || names->get_array().empty() ||
         lists(rule, "resourceNames", review.name, "");
}

/// The version by which the first rule matches: the one asked for, else, unless the policy wants
/// exact matches, another one of the same resource.
std::optional<Match> match_rules(const json::value& matched, std::string_view member,
                                 const Review& review, std::span<const std::string> versions) {
  const json::value* list = api::find(matched, member);
  const json::array* rules = list == nullptr ? nullptr : list->if_array();
  if (rules == nullptr) {
    return std::nullopt;
  }
  const auto by = [&](const std::string& version) {
    return std::ranges::any_of(*rules, [&](const json::value& rule) {
      return covers(rule, review, version) && covers_name(rule, review);
    });
  };
  if (by(review.served.version)) {
    return Match{review.served.version};
  }
  if (api::string_at(matched, "matchPolicy") == "Exact") {
    return std::nullopt;
  }
  const auto other = std::ranges::find_if(versions, by);
  return other == versions.end() ? std::nullopt : std::optional(Match{*other});
}

api::Labels labels_of(const json::value* object) {
  api::Labels out;
  const json::value* labels =
      object == nullptr ? nullptr : api::find_path(*object, "metadata.labels");
  if (labels != nullptr && labels->is_object()) {
    for (const auto& [key, value] : labels->get_object()) {
      if (value.is_string()) {
        out.emplace(std::string(key), std::string(value.get_string()));
      }
    }
  }
  return out;
}

Result<api::Selector> selector_of(const json::value& matched, std::string_view member) {
  const json::value* selector = api::find(matched, member);
  return selector == nullptr ? api::Selector() : api::parse_label_selector(*selector);
}

bool in_selected_namespace(const api::Selector& selector, const Review& review,
                           const json::value* namespace_object) {
  if (selector.empty() || (review.ns.empty() && !review.of_namespace())) {
    return true;
  }
  // A namespace is selected by what it becomes.
  const json::value* of = review.of_namespace() && review.object != nullptr ? review.object
                          : review.of_namespace()                           ? review.before
                                                                            : namespace_object;
  return selector.matches(labels_of(of));
}

bool is_selected(const api::Selector& selector, const Review& review) {
  const auto has = [&](const json::value* object) {
    return object != nullptr && selector.matches(labels_of(object));
  };
  return selector.empty() || has(review.object) || has(review.before);
}

} // namespace

Result<std::optional<Match>> match(const json::value& matched, const Review& review,
                                   const json::value* namespace_object,
                                   std::span<const std::string> versions) {
  const Result<api::Selector> namespaces = selector_of(matched, "namespaceSelector");
  const Result<api::Selector> objects = selector_of(matched, "objectSelector");
  if ((namespaces && !in_selected_namespace(*namespaces, review, namespace_object)) ||
      (objects && !is_selected(*objects, review)) ||
      match_rules(matched, "excludeResourceRules", review, versions)) {
    return std::optional<Match>();
  }
  const json::value* rules = api::find(matched, "resourceRules");
  const bool all = rules == nullptr || !rules->is_array() || rules->get_array().empty();
  std::optional<Match> found = all ? std::optional(Match{review.served.version})
                                   : match_rules(matched, "resourceRules", review, versions);
  if (!found) {
    return found;
  }
  // What cannot be read counts only where the rest matches.
  for (const auto* selector : {&namespaces, &objects}) {
    if (!*selector) {
      return tl::unexpected(selector->error());
    }
  }
  return found;
}

} // namespace berth::server
