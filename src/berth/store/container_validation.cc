#include "berth/store/container_validation.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "berth/api/quantity.h"
#include "berth/store/document.h"
#include "berth/store/naming.h"

namespace berth::store {
namespace {

using api::json::array;
using api::json::object;

constexpr std::int64_t kHighestPort = 65535;

const array& array_at(const object& parent, std::string_view member) {
  static const array kNone;
  const api::json::value* value = parent.if_contains(member);
  return value != nullptr && value->is_array() ? value->get_array() : kNone;
}

std::string indexed(const std::string& path, std::size_t index) {
  return fmt::format("{}[{}]", path, index);
}

bool is_hugepage(std::string_view name) {
  return name.starts_with("hugepages-");
}

/// Kubernetes' own: no domain, or one of kubernetes.io.
bool is_native(std::string_view name) {
  return name.find('/') == std::string_view::npos ||
         name.find("kubernetes.io/") != std::string_view::npos;
}

bool is_container_resource(std::string_view name) {
  return name == "cpu" || name == "memory" || name == "ephemeral-storage" || is_hugepage(name);
}

bool overcommit_allowed(std::string_view name) {
  return is_native(name) && !is_hugepage(name);
}

void check_resource_name(const std::string& name, const std::string& path, FieldErrors& errors) {
  const auto texts = qualified_name_errors(name);
  add_invalid(errors, path, name, texts);
  if (!texts.empty()) {
    return;
  }
  if (name.find('/') == std::string::npos) {
    if (!is_container_resource(name)) {
      add_invalid(errors, path, name,
                  {"must be a standard resource type or fully qualified",
                   "must be a standard resource for containers"});
    }
  } else if (!is_native(name) && !is_extended_resource(name)) {
    add_invalid(errors, path, name, {"doesn't follow extended resource name standard"});
  }
}

void check_quantity(std::string_view name, const api::Quantity& quantity, const std::string& path,
                    FieldErrors& errors) {
  if (quantity.sign() < 0) {
    errors.push_back(
        invalid_value(path, quote(quantity.to_string()), "must be greater than or equal to 0"));
  }
  const bool whole = api::Quantity::from_int(quantity.value()) == quantity;
  if (is_extended_resource(name) && !whole) {
    errors.push_back(invalid_value(path, quote(quantity.to_string()), "must be an integer"));
  }
}

std::optional<api::Quantity> quantity_at(const object* list, std::string_view name) {
  const api::json::value* value = list == nullptr ? nullptr : list->if_contains(name);
  if (value == nullptr) {
    return std::nullopt;
  }
  const auto parsed = api::Quantity::parse(value->is_string() ? std::string(value->get_string())
                                                              : api::to_json(*value));
  return parsed ? std::optional(*parsed) : std::nullopt;
}

/// Names in Kubernetes' order of a Go map printed by these checks: sorted.
std::vector<std::string> names_of(const object* list) {
  std::vector<std::string> names;
  if (list != nullptr) {
    for (const auto& entry : *list) {
      names.emplace_back(entry.key());
    }
  }
  std::ranges::sort(names);
  return names;
}

const object* list_in(const object& resources, std::string_view member) {
  const api::json::value* value = resources.if_contains(member);
  return value == nullptr ? nullptr : value->if_object();
}

void check_request_against_limit(const std::string& name, const api::Quantity& request,
                                 const std::optional<api::Quantity>& limit, const std::string& path,
                                 FieldErrors& errors) {
  if (!limit) {
    if (!overcommit_allowed(name)) {
      errors.push_back(
          required_field(path + ".limits", "Limit must be set for non overcommitable resources"));
    }
    return;
  }
  const std::string why = fmt::format("{} limit of {}", name, limit->to_string());
  if (request != *limit && !overcommit_allowed(name)) {
    errors.push_back(
        invalid_value(path + ".requests", quote(request.to_string()), "must be equal to " + why));
  } else if (request > *limit) {
    errors.push_back(invalid_value(path + ".requests", quote(request.to_string()),
                                   "must be less than or equal to " + why));
  }
}

void check_port_number(const object& port, std::string_view member, const std::string& path,
                       FieldErrors& errors) {
  const api::json::value* value = port.if_contains(member);
  const std::string field = fmt::format("{}.{}", path, member);
  if (value == nullptr) {
    if (member == "containerPort") {
      errors.push_back(required_field(field));
    }
    return;
  }
  if (value->is_int64() && (value->get_int64() < 1 || value->get_int64() > kHighestPort) &&
      (member == "containerPort" || value->get_int64() != 0)) {
    errors.push_back(invalid_value(field, fmt::to_string(value->get_int64()),
                                   "must be between 1 and 65535, inclusive"));
  }
}

void check_ports(const object& container, const std::string& path, FieldErrors& errors) {
  const array& ports = array_at(container, "ports");
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const object* port = ports[i].if_object();
    if (port == nullptr) {
      continue;
    }
    const std::string at = indexed(path + ".ports", i);
    check_port_number(*port, "containerPort", at, errors);
    check_port_number(*port, "hostPort", at, errors);
    const std::string_view protocol = text_at(*port, "protocol");
    if (!protocol.empty() && protocol != "TCP" && protocol != "UDP" && protocol != "SCTP") {
      errors.push_back(
          unsupported_value(at + ".protocol", quote(protocol), {"SCTP", "TCP", "UDP"}));
    }
  }
}

void check_environment(const object& container, const std::string& path, FieldErrors& errors) {
  const array& variables = array_at(container, "env");
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const object* variable = variables[i].if_object();
    const std::string_view name = variable == nullptr ? "" : text_at(*variable, "name");
    const std::string at = indexed(path + ".env", i) + ".name";
    if (name.empty()) {
      errors.push_back(required_field(at));
    } else if (!std::ranges::all_of(name,
                                    [](char c) { return c >= ' ' && c <= '~' && c != '='; })) {
      errors.push_back(invalid_value(
          at, quote(name),
          "a valid environment variable name must consist only of printable ASCII characters other "
          "than '='"));
    }
  }
}

void check_mounts(const object& container, const std::set<std::string>& volumes,
                  const std::string& path, FieldErrors& errors) {
  const array& mounts = array_at(container, "volumeMounts");
  for (std::size_t i = 0; i < mounts.size(); ++i) {
    const object* mount = mounts[i].if_object();
    if (mount == nullptr) {
      continue;
    }
    const std::string at = indexed(path + ".volumeMounts", i);
    const std::string name(text_at(*mount, "name"));
    if (name.empty()) {
      errors.push_back(required_field(at + ".name"));
    } else if (!volumes.contains(name)) {
      errors.push_back(not_found_value(at + ".name", quote(name)));
    }
    if (text_at(*mount, "mountPath").empty()) {
      errors.push_back(required_field(at + ".mountPath"));
    }
  }
}

void check_container(const object& container, const std::set<std::string>& volumes,
                     std::set<std::string>& names, const std::string& path, FieldErrors& errors) {
  const std::string name(text_at(container, "name"));
  if (name.empty()) {
    errors.push_back(required_field(path + ".name"));
  } else {
    add_invalid(errors, path + ".name", name, label_name_errors(name));
    if (!names.insert(name).second) {
      errors.push_back(duplicate_value(path + ".name", quote(name)));
    }
  }
  const std::string_view image = text_at(container, "image");
  if (image.empty()) {
    errors.push_back(required_field(path + ".image"));
  } else if (image.front() == ' ' || image.back() == ' ') {
    errors.push_back(invalid_value(path + ".image", quote(image),
                                   "must not have leading or trailing whitespace"));
  }
  check_ports(container, path, errors);
  check_environment(container, path, errors);
  check_mounts(container, volumes, path, errors);
  if (const object* resources = list_in(container, "resources")) {
    check_resources(*resources, path + ".resources", errors);
  }
}

std::set<std::string> volume_names(const object& spec) {
  std::set<std::string> names;
  for (const api::json::value& volume : array_at(spec, "volumes")) {
    if (volume.is_object()) {
      names.emplace(text_at(volume.get_object(), "name"));
    }
  }
  return names;
}

} // namespace

bool is_extended_resource(std::string_view name) {
  return !is_native(name) && !name.starts_with("requests.") &&
         qualified_name_errors(std::string("requests.").append(name)).empty();
}

void check_resources(const object& resources, const std::string& path, FieldErrors& errors) {
  const object* limits = list_in(resources, "limits");
  const object* requests = list_in(resources, "requests");
  for (const std::string& name : names_of(limits)) {
    const std::string at = fmt::format("{}.limits[{}]", path, name);
    check_resource_name(name, at, errors);
    if (const auto limit = quantity_at(limits, name)) {
      check_quantity(name, *limit, at, errors);
    }
  }
  for (const std::string& name : names_of(requests)) {
    const std::string at = fmt::format("{}.requests[{}]", path, name);
    check_resource_name(name, at, errors);
    if (const auto request = quantity_at(requests, name)) {
      check_quantity(name, *request, at, errors);
      check_request_against_limit(name, *request, quantity_at(limits, name), path, errors);
    }
  }
}

void check_containers(const object& spec, const std::string& path, FieldErrors& errors) {
  const std::set<std::string> volumes = volume_names(spec);
  std::set<std::string> names;
  if (array_at(spec, "containers").empty()) {
    errors.push_back(required_field(path + ".containers"));
  }
  for (const std::string_view list : {"containers", "initContainers"}) {
    const array& containers = array_at(spec, list);
    for (std::size_t i = 0; i < containers.size(); ++i) {
      if (const object* container = containers[i].if_object()) {
        check_container(*container, volumes, names, indexed(fmt::format("{}.{}", path, list), i),
                        errors);
      }
    }
  }
}

} // namespace berth::store
