#include "berth/schema/definition_change.h"

#include <algorithm>
#include <optional>
#include <set>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "berth/api/json.h"

namespace berth::schema {
namespace {

namespace json = boost::json;

constexpr std::string_view kApproval = "api-approved.kubernetes.io";
constexpr std::string_view kWhere = "https://github.com/kubernetes/enhancements/pull/1111";
constexpr std::size_t kMaxSelectable = 8;

bool is_established(const json::value& definition) {
  const json::value* conditions = api::find_path(definition, "status.conditions");
  return conditions != nullptr && conditions->is_array() &&
         std::ranges::any_of(conditions->get_array(), [](const json::value& one) {
           return api::string_at(one, "type") == "Established" &&
                  api::string_at(one, "status") == "True";
         });
}

const json::array& list_at(const json::value& of, std::string_view path) {
  static const json::array kNone;
  const json::value* found = api::find_path(of, path);
  return found != nullptr && found->is_array() ? found->get_array() : kNone;
}

bool is_protected(std::string_view group) {
  return group == "k8s.io" || group == "kubernetes.io" || group.ends_with(".k8s.io") ||
         group.ends_with(".kubernetes.io");
}

/// none: the annotation is missing.
std::optional<std::string> approval_of(const json::value& definition) {
  const json::value* annotations = api::find_path(definition, "metadata.annotations");
  const json::value* found = annotations == nullptr ? nullptr : api::find(*annotations, kApproval);
  return found != nullptr && found->is_string() && !found->get_string().empty()
             ? std::optional(std::string(found->get_string()))
             : std::nullopt;
}

bool is_approval(std::string_view text) {
  return text.starts_with("unapproved") || text.find("://") != std::string_view::npos;
}

void check_approval(const json::value* before, const json::value& now, FieldErrors& errors) {
  if (!is_protected(api::string_at(now, "spec.group"))) {
    return;
  }
  const auto given = approval_of(now);
  if (before != nullptr && approval_of(*before) == given) {
    return;
  }
  const std::string field = fmt::format("metadata.annotations[{}]", kApproval);
  if (!given) {
    errors.push_back(required_value(
        field, fmt::format("protected groups must have approval annotation \"{}\", see {}",
                           kApproval, kWhere)));
  } else if (!is_approval(*given)) {
    errors.push_back(invalid_value(
        field, json::value(*given),
        fmt::format("protected groups must have approval annotation \"{}\" with either a URL or "
                    "a reason starting with \"unapproved\", see {}",
                    kApproval, kWhere)));
  }
}

void check_stored_versions(const json::value& now, FieldErrors& errors) {
  std::set<std::string_view> versions;
  for (const json::value& version : list_at(now, "spec.versions")) {
    versions.insert(api::string_at(version, "name"));
  }
  const json::array& stored = list_at(now, "status.storedVersions");
  for (std::size_t i = 0; i < stored.size(); ++i) {
    const std::string_view name =
        stored[i].is_string() ? std::string_view(stored[i].get_string()) : std::string_view();
    if (!versions.contains(name)) {
      errors.push_back(invalid_value(fmt::format("status.storedVersions[{}]", i), json::value(name),
                                     "must appear in spec.versions"));
    }
  }
}

/// ".spec.replicas": names after dots, no elements of arrays.
bool is_plain_path(std::string_view path) {
  return path.starts_with('.') && path.size() > 1 && !path.ends_with('.') &&
         path.find("..") == std::string_view::npos &&
         path.find_first_of("[]*?@(){}\"' ") == std::string_view::npos;
}

void check_scale_path(const json::value& scale, std::string_view member, const std::string& path,
                      FieldErrors& errors) {
  const std::string given(api::string_at(scale, member));
  const std::string field = fmt::format("{}.{}", path, member);
  const bool of_spec = member == "specReplicasPath";
  const bool of_labels = member == "labelSelectorPath";
  if (given.empty()) {
    if (!of_labels) {
      errors.push_back(required_value(field));
    }
    return;
  }
  if (!is_plain_path(given)) {
    errors.push_back(invalid_value(
        field, json::value(given),
        "should be a json path without array notation, starting with a dot: .spec.replicas"));
  } else if (of_spec && !given.starts_with(".spec.")) {
    errors.push_back(invalid_value(field, json::value(given), "should be a json path under .spec"));
  } else if (!of_spec && !given.starts_with(".status.") &&
             !(of_labels && given.starts_with(".spec."))) {
    errors.push_back(invalid_value(field, json::value(given),
                                   of_labels ? "should be a json path under either .status or .spec"
                                             : "should be a json path under .status"));
  }
}

/// The type of the field in the schema; "" if there is none.
std::string_view type_at(const json::value& schema, std::string_view path) {
  const json::value* at = &schema;
  while (at != nullptr && !path.empty()) {
    path.remove_prefix(1); // the dot
    const std::size_t end = std::min(path.find('.'), path.size());
    const json::value* properties = api::find(*at, "properties");
    at = properties == nullptr ? nullptr : api::find(*properties, path.substr(0, end));
    path.remove_prefix(end);
  }
  return at == nullptr ? std::string_view() : api::string_at(*at, "type");
}

void check_selectable(const json::value& version, const std::string& path, FieldErrors& errors) {
  const json::array& fields = list_at(version, "selectableFields");
  const json::value* schema = api::find_path(version, "schema.openAPIV3Schema");
  if (fields.size() > kMaxSelectable) {
    errors.push_back(too_many(path, static_cast<std::int64_t>(fields.size()), kMaxSelectable));
  }
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::string_view given = api::string_at(fields[i], "jsonPath");
    const std::string field = fmt::format("{}[{}].jsonPath", path, i);
    if (given.empty()) {
      errors.push_back(required_value(field));
      continue;
    }
    const std::string_view type =
        schema == nullptr || !is_plain_path(given) ? std::string_view() : type_at(*schema, given);
    if (!is_plain_path(given)) {
      errors.push_back(
          invalid_value(field, json::value(given),
                        "is an invalid path: must be a simple json path without array notation"));
    } else if (given.starts_with(".metadata.")) {
      errors.push_back(invalid_value(field, json::value(given),
                                     "must not point to fields in "
                                     "metadata"));
    } else if (type != "string" && type != "boolean" && type != "integer") {
      errors.push_back(invalid_value(field, json::value(given),
                                     "must point to a field of type string, boolean or integer"));
    }
    if (!seen.insert(given).second) {
      errors.push_back(duplicate_value(field, json::value(given)));
    }
  }
}

} // namespace

FieldErrors check_definition_change(const json::value* before, const json::value& now) {
  FieldErrors errors;
  const auto stays = [&](std::string_view field) {
    const std::string_view is = api::string_at(now, field);
    if (api::string_at(*before, field) != is) {
      errors.push_back(invalid_value(std::string(field), json::value(is), "field is immutable"));
    }
  };
  if (before != nullptr) {
    if (is_established(*before)) {
      stays("spec.scope");
      stays("spec.names.kind");
    }
    stays("spec.group");
    stays("spec.names.plural");
    check_stored_versions(now, errors);
  }
  check_approval(before, now, errors);
  return errors;
}

FieldErrors check_version_paths(const json::value& version, const std::string& path) {
  FieldErrors errors;
  if (const json::value* scale = api::find_path(version, "subresources.scale")) {
    for (const std::string_view member :
         {"specReplicasPath", "statusReplicasPath", "labelSelectorPath"}) {
      check_scale_path(*scale, member, path + ".subresources.scale", errors);
    }
  }
  check_selectable(version, path + ".selectableFields", errors);
  return errors;
}

} // namespace berth::schema
