#include "berth/schema/custom_resource.h"

#include <algorithm>
#include <set>

#include <boost/json/array.hpp>
#include <boost/json/string.hpp>
#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/api/version_order.h"
#include "berth/schema/cel_rules.h"
#include "berth/schema/definition_change.h"
#include "berth/schema/structural.h"

namespace berth::schema {
namespace {

namespace json = boost::json;

std::string text(const json::value& of, std::string_view path) {
  return std::string(api::string_at(of, path));
}

std::vector<std::string> texts(const json::value& of, std::string_view path) {
  std::vector<std::string> out;
  if (const json::value* found = api::find_path(of, path); found != nullptr && found->is_array()) {
    for (const json::value& element : found->as_array()) {
      if (element.is_string()) {
        out.emplace_back(element.as_string());
      }
    }
  }
  return out;
}

std::string lower(std::string word) {
  std::ranges::transform(word, word.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return word;
}

bool flag(const json::value& of, std::string_view path) {
  const json::value* found = api::find_path(of, path);
  return found != nullptr && found->is_bool() && found->as_bool();
}

/// [a-z0-9]([-a-z0-9]*[a-z0-9])?, the first one a letter if asked for.
bool is_label(std::string_view word, bool letter_first) {
  const auto letter = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return !word.empty() && word.size() <= 63 &&
         (letter(word.front()) || (!letter_first && digit(word.front()))) && word.back() != '-' &&
         std::ranges::all_of(word, [&](char c) { return letter(c) || digit(c) || c == '-'; });
}

bool is_subdomain(std::string_view word) {
  while (word.size() <= 253) {
    const std::size_t dot = word.find('.');
    if (!is_label(word.substr(0, dot), false)) {
      return false;
    }
    if (dot == std::string_view::npos) {
      return true;
    }
    word.remove_prefix(dot + 1);
  }
  return false;
}

constexpr std::string_view kSubdomainRule =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    "for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
constexpr std::string_view kLabel1035Rule =
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or "
    "'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";

/// "com.example.v1.Gang" of example.com/v1 Gang.
std::string type_name(std::string_view group, std::string_view version, std::string_view kind) {
  std::string reversed;
  for (std::string_view rest = group; !rest.empty();) {
    const std::size_t dot = rest.rfind('.');
    const std::string_view last = dot == std::string_view::npos ? rest : rest.substr(dot + 1);
    reversed += (reversed.empty() ? "" : ".") + std::string(last);
    rest = dot == std::string_view::npos ? std::string_view() : rest.substr(0, dot);
  }
  return fmt::format("{}.{}.{}", reversed, version, kind);
}

class Definition {
 public:
  explicit Definition(const json::value& crd) : crd_(crd) {
    if (const json::value* found = api::find_path(crd, "spec.versions");
        found != nullptr && found->is_array()) {
      versions_ = &found->as_array();
    }
  }

  FieldErrors check() {
    name();
    group();
    const std::string scope = text(crd_, "spec.scope");
    if (scope.empty()) {
      add(required_value("spec.scope"));
    } else if (scope != "Cluster" && scope != "Namespaced") {
      add(not_supported("spec.scope", json::value(scope), {"Cluster", "Namespaced"}));
    }
    versions();
    names();
    return std::move(errors_);
  }

 private:
  void add(FieldError error) { errors_.push_back(std::move(error)); }

  void name() {
    const std::string given = text(crd_, "metadata.name");
    if (!is_subdomain(given)) {
      add(invalid_value("metadata.name", json::value(given), kSubdomainRule));
    }
    if (given != text(crd_, "spec.names.plural") + "." + text(crd_, "spec.group")) {
      add(invalid_value("metadata.name", json::value(given),
                        "must be spec.names.plural+\".\"+spec.group"));
    }
  }

  void group() {
    const std::string given = text(crd_, "spec.group");
    if (given.empty()) {
      add(required_value("spec.group"));
    } else if (!is_subdomain(given)) {
      add(invalid_value("spec.group", json::value(given), kSubdomainRule));
    } else if (given.find('.') == std::string::npos) {
      add(invalid_value("spec.group", json::value(given),
                        "should be a domain with at least one dot"));
    }
  }

  const json::value* schema(const json::value& version) const {
    return api::find_path(version, "schema.openAPIV3Schema");
  }

  /// Rules are read of a schema that is one.
  static FieldErrors check_schema(const json::value& schema, const std::string& path) {
    FieldErrors wrong = check_structural(schema, path);
    if (!wrong.empty()) {
      return wrong;
    }
    const auto type = structural_type(schema, "");
    return type ? check_rules(*rules_of(*type), path) : wrong;
  }

  // Of versions that all have the same schema an API server speaks once.
  bool share_one_schema() const {
    const json::value* first = versions_->empty() ? nullptr : schema(versions_->front());
    return first != nullptr && std::ranges::all_of(*versions_, [&](const json::value& version) {
             const json::value* own = schema(version);
             return own != nullptr && *own == *first;
           });
  }

  void versions() {
    if (versions_ == nullptr || versions_->empty()) {
      add(invalid_value("spec.versions", json::value(nullptr),
                        "must have exactly one version marked as storage version"));
      return;
    }
    const bool shared = share_one_schema();
    std::set<std::string> seen;
    int stored = 0;
    bool unique = true;
    for (std::size_t i = 0; i < versions_->size(); ++i) {
      const json::value& version = (*versions_)[i];
      const std::string path = fmt::format("spec.versions[{}]", i);
      const std::string own = text(version, "name");
      if (!is_label(own, true)) {
        add(invalid_value(path + ".name", json::value(own), kLabel1035Rule));
      }
      unique = seen.insert(own).second && unique;
      stored += flag(version, "storage") ? 1 : 0;
      const json::value* openapi = schema(version);
      if (openapi == nullptr) {
        add(required_value(path + ".schema.openAPIV3Schema", "schemas are required"));
      } else if (!shared) {
        merge(check_schema(*openapi, path + ".schema.openAPIV3Schema"));
      }
      // Kubernetes judges a form in which what all versions share stands above them.
      const std::string home = versions_->size() == 1 ? "spec" : path;
      columns(version, home + ".additionalPrinterColumns");
      merge(check_version_paths(version, home));
    }
    if (!unique) {
      add(invalid_value("spec.versions", *versions_, "must contain unique version names"));
    }
    if (stored != 1) {
      add(invalid_value("spec.versions", *versions_,
                        "must have exactly one version marked as storage version"));
    }
    if (shared) {
      merge(check_schema(*schema(versions_->front()), "spec.validation.openAPIV3Schema"));
    }
  }

  void columns(const json::value& version, const std::string& path) {
    const json::value* given = api::find(version, "additionalPrinterColumns");
    if (given == nullptr || !given->is_array()) {
      return;
    }
    const std::vector<std::string> types = {"boolean", "date", "integer", "number", "string"};
    for (std::size_t i = 0; i < given->as_array().size(); ++i) {
      const json::value& column = given->as_array()[i];
      const std::string where = fmt::format("{}[{}]", path, i);
      const std::string type = text(column, "type");
      if (text(column, "name").empty()) {
        add(required_value(where + ".name"));
      }
      if (type.empty()) {
        add(required_value(where + ".type", "must be one of boolean,date,integer,number,string"));
      } else if (std::ranges::find(types, type) == types.end()) {
        add(invalid_value(where + ".type", json::value(type),
                          "must be one of boolean,date,integer,number,string"));
      }
      if (text(column, "jsonPath").empty()) {
        add(required_value(where + ".JSONPath"));
      }
    }
  }

  void names() {
    for (const std::string_view member : {"plural", "singular", "kind", "listKind"}) {
      const std::string path = fmt::format("spec.names.{}", member);
      const std::string given = text(crd_, path);
      const bool kind = member == "kind" || member == "listKind";
      if (given.empty()) {
        add(required_value(path));
      } else if (!is_label(kind ? lower(given) : given, true)) {
        add(invalid_value(path, json::value(given),
                          kind ? fmt::format("may have mixed case, but should otherwise match: {}",
                                             kLabel1035Rule)
                               : std::string(kLabel1035Rule)));
      }
    }
    if (const std::string kind = text(crd_, "spec.names.kind");
        !kind.empty() && kind == text(crd_, "spec.names.listKind")) {
      add(invalid_value("spec.names.listKind", json::value(kind),
                        "kind and listKind may not be the same"));
    }
    const auto shorts = texts(crd_, "spec.names.shortNames");
    for (std::size_t i = 0; i < shorts.size(); ++i) {
      if (!is_label(shorts[i], true)) {
        add(invalid_value(fmt::format("spec.names.shortNames[{}]", i), json::value(shorts[i]),
                          kLabel1035Rule));
      }
    }
  }

  void merge(FieldErrors errors) { std::ranges::move(errors, std::back_inserter(errors_)); }

  const json::value& crd_;
  const json::array* versions_ = nullptr;
  FieldErrors errors_;
};

std::vector<PrinterColumn> printer_columns(const json::value& version) {
  std::vector<PrinterColumn> out;
  const json::value* given = api::find(version, "additionalPrinterColumns");
  if (given == nullptr || !given->is_array()) {
    return out;
  }
  for (const json::value& column : given->as_array()) {
    const json::value* priority = api::find(column, "priority");
    out.push_back({.name = text(column, "name"),
                   .type = text(column, "type"),
                   .format = text(column, "format"),
                   .description = text(column, "description"),
                   .priority = priority != nullptr && priority->is_int64()
                                   ? static_cast<int>(priority->get_int64())
                                   : 0,
                   .json_path = text(column, "jsonPath")});
  }
  return out;
}

/// "spec.color" of ".spec.color".
std::vector<std::string> selectable_fields(const json::value& version) {
  std::vector<std::string> out;
  if (const json::value* given = api::find(version, "selectableFields");
      given != nullptr && given->is_array()) {
    for (const json::value& field : given->as_array()) {
      if (const std::string path = text(field, "jsonPath"); path.size() > 1) {
        out.push_back(path.substr(1));
      }
    }
  }
  return out;
}

/// What is told of a deprecated version, with the newest one to use instead; "" of another.
std::string deprecation(const json::value& crd, const json::value& version) {
  if (!flag(version, "deprecated")) {
    return "";
  }
  if (const std::string said = text(version, "deprecationWarning"); !said.empty()) {
    return said;
  }
  const auto named = [&](std::string_view name) {
    return fmt::format("{}/{} {}", text(crd, "spec.group"), name, text(crd, "spec.names.kind"));
  };
  std::string newest = text(version, "name");
  for (const json::value& other : api::find_path(crd, "spec.versions")->as_array()) {
    if (flag(other, "served") && !flag(other, "deprecated") &&
        api::is_newer(text(other, "name"), newest)) {
      newest = text(other, "name");
    }
  }
  const std::string out = named(text(version, "name")) + " is deprecated";
  return newest == text(version, "name") ? out : fmt::format("{}; use {}", out, named(newest));
}

void add_subresources(Resource& out, const json::value& version) {
  const std::vector<std::string> verbs = {"get", "patch", "update"};
  if (api::find_path(version, "subresources.status") != nullptr) {
    out.subresources.push_back({.name = "status", .kind = out.gvk(), .verbs = verbs});
  }
  if (const json::value* scale = api::find_path(version, "subresources.scale")) {
    out.subresources.push_back(
        {.name = "scale", .kind = {"autoscaling", "v1", "Scale"}, .verbs = verbs});
    out.scale = {.spec_replicas = text(*scale, "specReplicasPath"),
                 .status_replicas = text(*scale, "statusReplicasPath"),
                 .label_selector = text(*scale, "labelSelectorPath")};
  }
}

} // namespace

void default_definition(json::object& crd) {
  json::object& spec = api::object_at(crd, "spec");
  json::object& names = api::object_at(spec, "names");
  const json::value whole(names);
  const std::string kind = text(whole, "kind");
  if (text(whole, "singular").empty()) {
    names["singular"] = lower(kind);
  }
  if (text(whole, "listKind").empty() && !kind.empty()) {
    names["listKind"] = kind + "List";
  }
  json::object& conversion = api::object_at(spec, "conversion");
  if (!conversion.contains("strategy")) {
    conversion["strategy"] = "None";
  }
  json::array stored;
  if (const json::value* versions = spec.if_contains("versions");
      versions && versions->is_array()) {
    for (const json::value& version : versions->as_array()) {
      if (flag(version, "storage")) {
        stored.emplace_back(text(version, "name"));
      }
    }
  }
  json::value& written = api::object_at(crd, "status")["storedVersions"];
  if (written.is_null()) {
    written = std::move(stored);
  }
}

FieldErrors check_definition(const json::value& crd) {
  return Definition(crd).check();
}

Result<std::vector<Resource>> resources_of(const json::value& crd) {
  std::vector<Resource> out;
  const json::value* versions = api::find_path(crd, "spec.versions");
  if (versions == nullptr || !versions->is_array()) {
    return out;
  }
  for (const json::value& version : versions->as_array()) {
    if (!flag(version, "served")) {
      continue;
    }
    Resource resource{.group = text(crd, "spec.group"),
                      .version = text(version, "name"),
                      .kind = text(crd, "spec.names.kind"),
                      .plural = text(crd, "spec.names.plural"),
                      .singular = text(crd, "spec.names.singular"),
                      .list_kind = text(crd, "spec.names.listKind"),
                      .short_names = texts(crd, "spec.names.shortNames"),
                      .categories = texts(crd, "spec.names.categories"),
                      .verbs = {"delete", "deletecollection", "get", "list", "patch", "create",
                                "update", "watch"},
                      .custom = true};
    resource.scope =
        text(crd, "spec.scope") == "Cluster" ? api::Scope::Cluster : api::Scope::Namespaced;
    resource.deprecation = deprecation(crd, version);
    add_subresources(resource, version);
    resource.columns = printer_columns(version);
    resource.selectable = selectable_fields(version);
    const json::value* schema = api::find_path(version, "schema.openAPIV3Schema");
    resource.schema =
        std::make_shared<const json::value>(schema == nullptr ? json::value() : *schema);
    BERTH_TRY(resource.type,
              structural_type(*resource.schema,
                              type_name(resource.group, resource.version, resource.kind)));
    resource.rules = rules_of(resource.type);
    out.push_back(std::move(resource));
  }
  return out;
}

} // namespace berth::schema
