#include "berth/schema/catalogue.h"

#include <algorithm>
#include <array>

#include <boost/json/array.hpp>
#include <boost/json/monotonic_resource.hpp>
#include <boost/json/object.hpp>

#include "berth/api/json.h"
#include "berth/base/assert.h"
#include "berth/schema/bundle.h"

namespace berth::schema {
namespace {

namespace json = boost::json;

constexpr std::string_view kMetaPackage = "io.k8s.apimachinery.pkg.apis.meta.v1";
constexpr std::array kAllVerbs = {"create", "delete", "deletecollection", "get",
                                  "list",   "patch",  "update",           "watch"};
constexpr std::array kSubresourceVerbs = {"get", "patch", "update"};

template <class Defaults>
std::vector<std::string> texts(const json::object& of, std::string_view member,
                               const Defaults& otherwise) {
  const json::value* given = of.if_contains(member);
  if (given == nullptr) {
    return {std::begin(otherwise), std::end(otherwise)};
  }
  std::vector<std::string> out;
  for (const json::value& text : given->as_array()) {
    out.emplace_back(text.as_string());
  }
  return out;
}

std::vector<std::string> texts(const json::object& of, std::string_view member) {
  return texts(of, member, std::array<std::string, 0>{});
}

std::string text(const json::object& of, std::string_view member, std::string_view otherwise) {
  const json::value* given = of.if_contains(member);
  return std::string(given == nullptr ? otherwise : std::string_view(given->as_string()));
}

Resource read_resource(const std::string& group, const std::string& version,
                       const json::object& said) {
  Resource out{.group = group,
               .version = version,
               .kind = text(said, "kind", ""),
               .plural = text(said, "plural", ""),
               .singular = text(said, "singular", ""),
               .short_names = texts(said, "shortNames"),
               .categories = texts(said, "categories"),
               .verbs = texts(said, "verbs", kAllVerbs)};
  out.scope = text(said, "scope", "") == "Cluster" ? api::Scope::Cluster : api::Scope::Namespaced;
  out.deprecation = text(said, "deprecation", "");
  out.list_kind = out.can("list") ? out.kind + "List" : "";
  if (const json::value* subresources = said.if_contains("subresources")) {
    for (const auto& [name, value] : subresources->as_object()) {
      const json::object& of = value.as_object();
      const bool other_group = of.contains("group");
      out.subresources.push_back(
          {.name = name,
           .kind = {other_group ? text(of, "group", "") : group, text(of, "version", version),
                    text(of, "kind", out.kind)},
           .verbs = texts(of, "verbs", kSubresourceVerbs)});
    }
  }
  return out;
}

} // namespace

const Catalogue& Catalogue::builtin() {
  static const Catalogue kBuiltin = [] {
    auto parsed = parse(bundle_text());
    BERTH_ASSERT(parsed.has_value(), to_string(parsed.error()));
    return *std::move(parsed);
  }();
  return kBuiltin;
}

Result<Catalogue> Catalogue::parse(std::string_view bundle) {
  json::monotonic_resource memory;
  BERTH_TRY(const json::value document, api::parse_json(bundle, "schemas.json", &memory));
  const json::object& root = document.as_object();

  Catalogue out;
  out.version_ = root.at("version").as_string();
  for (const auto& [name, place] : root.at("packages").as_object()) {
    out.packages_.push_back(
        {name, std::string(place.at(0).as_string()), std::string(place.at(1).as_string())});
  }
  auto arena = std::make_shared<Arena>();
  BERTH_CHECK(read_types(root.at("types").as_object(), *arena));
  out.arena_ = std::move(arena);
  for (const json::value& entry : root.at("resources").as_array()) {
    const json::object& served = entry.as_object();
    for (const json::value& said : served.at("resources").as_array()) {
      Resource resource =
          read_resource(text(served, "group", ""), text(served, "version", ""), said.as_object());
      resource.type = out.type(resource.gvk());
      if (!resource.type) {
        return fail(Code::Invalid, "bundle of built-in types: no type of " + resource.kind +
                                       " in " + resource.gvk().api_version());
      }
      out.resources_.push_back(std::move(resource));
    }
  }
  return out;
}

const Resource* Catalogue::resource(std::string_view group, std::string_view version,
                                    std::string_view plural) const {
  const auto at = std::ranges::find_if(resources_, [&](const Resource& r) {
    return r.plural == plural && r.group == group && r.version == version;
  });
  return at == resources_.end() ? nullptr : &*at;
}

const Resource* Catalogue::resource_of(const api::GroupVersionKind& gvk) const {
  const auto at = std::ranges::find_if(resources_, [&](const Resource& r) {
    return r.kind == gvk.kind && r.group == gvk.group && r.version == gvk.version;
  });
  return at == resources_.end() ? nullptr : &*at;
}

TypePtr Catalogue::named(std::string_view name) const {
  const Type* type = arena_->find(name);
  return type == nullptr ? nullptr : pointer_into(arena_, *type);
}

TypePtr Catalogue::type(const api::GroupVersionKind& gvk) const {
  for (const Package& package : packages_) {
    // Every group and version knows the kinds of meta/v1: Status, DeleteOptions, WatchEvent.
    const bool here = package.group == gvk.group && package.version == gvk.version;
    if (here || package.name == kMetaPackage) {
      TypePtr found = named(package.name + "." + gvk.kind);
      if (found && found->field("apiVersion") != nullptr && found->field("kind") != nullptr &&
          (here || found->name.starts_with(kMetaPackage))) {
        return found;
      }
    }
  }
  return nullptr;
}

api::GroupVersionKind Catalogue::gvk_of(const Type& type) const {
  const std::size_t dot = type.name.rfind('.');
  const auto package = std::ranges::find(packages_, type.name.substr(0, dot), &Package::name);
  if (package == packages_.end()) {
    return {};
  }
  const Field* metadata = type.field("metadata");
  const bool object =
      metadata != nullptr && type.field("kind") != nullptr && package->name != kMetaPackage;
  return {package->group, package->version, object ? type.name.substr(dot + 1) : ""};
}

std::vector<const Type*> Catalogue::types() const {
  std::vector<const Type*> out;
  for (const auto& [name, type] : arena_->by_name()) {
    out.push_back(type);
  }
  return out;
}

} // namespace berth::schema
