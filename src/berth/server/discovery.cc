#include "berth/server/discovery.h"

#include <algorithm>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "berth/api/version_order.h"

namespace berth::server {
namespace {

namespace json = boost::json;
using schema::Resource;
using schema::Subresource;

json::array texts(const std::vector<std::string>& all) {
  return json::array(all.begin(), all.end());
}

struct Version {
  std::string name;
  std::vector<const Resource*> resources;
};
struct Group {
  std::string name;
  std::vector<Version> versions; ///< the preferred one first
};

std::vector<Group> groups_of(const Resources& resources) {
  std::vector<Group> groups;
  for (const Resource* resource : resources.all()) {
    auto group = std::ranges::find(groups, resource->group, &Group::name);
    if (group == groups.end()) {
      group = groups.insert(groups.end(), Group{.name = resource->group, .versions = {}});
    }
    auto version = std::ranges::find(group->versions, resource->version, &Version::name);
    if (version == group->versions.end()) {
      version = group->versions.insert(group->versions.end(),
                                       Version{.name = resource->version, .resources = {}});
    }
    version->resources.push_back(resource);
  }
  for (Group& group : groups) {
    std::ranges::stable_sort(group.versions, api::is_newer, &Version::name);
  }
  return groups;
}

json::object version_entry(const Group& group, const Version& version) {
  return {{"groupVersion", group.name + "/" + version.name}, {"version", version.name}};
}

json::object group_entry(const Group& group) {
  json::object out{{"name", group.name}};
  json::array versions;
  for (const Version& version : group.versions) {
    versions.push_back(version_entry(group, version));
  }
  out["versions"] = std::move(versions);
  out["preferredVersion"] = version_entry(group, group.versions.front());
  return out;
}

json::object resource_entry(const Resource& resource) {
  json::object out{{"name", resource.plural},
                   {"singularName", resource.singular},
                   {"namespaced", resource.namespaced()},
                   {"kind", resource.kind},
                   {"verbs", texts(resource.verbs)}};
  if (!resource.short_names.empty()) {
    out["shortNames"] = texts(resource.short_names);
  }
  if (!resource.categories.empty()) {
    out["categories"] = texts(resource.categories);
  }
  return out;
}

json::object subresource_entry(const Resource& resource, const Subresource& sub) {
  json::object out{{"name", resource.plural + "/" + sub.name},
                   {"singularName", ""},
                   {"namespaced", resource.namespaced()}};
  if (sub.kind.group != resource.group || sub.kind.version != resource.version) {
    if (!sub.kind.group.empty()) {
      out["group"] = sub.kind.group;
    }
    out["version"] = sub.kind.version;
  }
  out["kind"] = sub.kind.kind;
  out["verbs"] = texts(sub.verbs);
  return out;
}

json::object response_kind(const Resource& resource, const api::GroupVersionKind& kind) {
  const bool own = kind.group == resource.group && kind.version == resource.version;
  return {
      {"group", own ? "" : kind.group}, {"version", own ? "" : kind.version}, {"kind", kind.kind}};
}

json::object aggregated_resource(const Resource& resource) {
  json::object out{{"resource", resource.plural},
                   {"responseKind", response_kind(resource, resource.gvk())},
                   {"scope", resource.namespaced() ? "Namespaced" : "Cluster"},
                   {"singularResource", resource.singular},
                   {"verbs", texts(resource.verbs)}};
  if (!resource.short_names.empty()) {
    out["shortNames"] = texts(resource.short_names);
  }
  if (!resource.categories.empty()) {
    out["categories"] = texts(resource.categories);
  }
  json::array subresources;
  for (const Subresource& sub : resource.subresources) {
    subresources.push_back(json::object{{"subresource", sub.name},
                                        {"responseKind", response_kind(resource, sub.kind)},
                                        {"verbs", texts(sub.verbs)}});
  }
  if (!subresources.empty()) {
    out["subresources"] = std::move(subresources);
  }
  return out;
}

json::object aggregated_group(const Group& group) {
  json::object meta;
  if (!group.name.empty()) {
    meta["name"] = group.name;
  }
  json::array versions;
  for (const Version& version : group.versions) {
    json::array resources;
    for (const Resource* resource : version.resources) {
      resources.push_back(aggregated_resource(*resource));
    }
    versions.push_back(json::object{
        {"version", version.name}, {"resources", std::move(resources)}, {"freshness", "Current"}});
  }
  return {{"metadata", std::move(meta)}, {"versions", std::move(versions)}};
}

} // namespace

json::object core_versions(std::string_view address) {
  json::array addresses{json::object{{"clientCIDR", "0.0.0.0/0"}, {"serverAddress", address}}};
  return {{"kind", "APIVersions"},
          {"versions", json::array{"v1"}},
          {"serverAddressByClientCIDRs", std::move(addresses)}};
}

json::object group_list(const Resources& resources) {
  json::array groups;
  for (const Group& group : groups_of(resources)) {
    if (!group.name.empty()) {
      groups.push_back(group_entry(group));
    }
  }
  return {{"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", std::move(groups)}};
}

json::object group_document(const Resources& resources, std::string_view name) {
  for (const Group& group : groups_of(resources)) {
    if (group.name == name && !name.empty()) {
      json::object out{{"kind", "APIGroup"}, {"apiVersion", "v1"}};
      for (auto& member : group_entry(group)) {
        out.emplace(member.key(), std::move(member.value()));
      }
      return out;
    }
  }
  return {};
}

json::object resource_list(const Resources& resources, std::string_view group,
                           std::string_view version) {
  if (!resources.has_version(group, version)) {
    return {};
  }
  json::object out{{"kind", "APIResourceList"}};
  if (!group.empty()) {
    out["apiVersion"] = "v1";
  }
  out["groupVersion"] = group.empty() ? std::string(version) : fmt::format("{}/{}", group, version);
  json::array entries;
  for (const Resource* resource : resources.all()) {
    if (resource->group != group || resource->version != version) {
      continue;
    }
    entries.push_back(resource_entry(*resource));
    for (const Subresource& sub : resource->subresources) {
      entries.push_back(subresource_entry(*resource, sub));
    }
  }
  out["resources"] = std::move(entries);
  return out;
}

json::object aggregated(const Resources& resources, DiscoveryPart part) {
  json::array items;
  for (const Group& group : groups_of(resources)) {
    if (group.name.empty() == (part == DiscoveryPart::Core)) {
      items.push_back(aggregated_group(group));
    }
  }
  return {{"kind", "APIGroupDiscoveryList"},
          {"apiVersion", "apidiscovery.k8s.io/v2"},
          {"metadata", json::object()},
          {"items", std::move(items)}};
}

json::object version_document(std::string_view kubernetes_version) {
  const std::size_t dot = kubernetes_version.find('.');
  const std::string_view minor_on = kubernetes_version.substr(dot + 1);
  const std::string minor(minor_on.substr(0, minor_on.find('.')));
  return {{"major", kubernetes_version.substr(0, dot)},
          {"minor", minor},
          {"emulationMajor", kubernetes_version.substr(0, dot)},
          {"emulationMinor", minor},
          {"minCompatibilityMajor", kubernetes_version.substr(0, dot)},
          {"minCompatibilityMinor", std::to_string(std::stoi(minor) - 1)},
          {"gitVersion", fmt::format("v{}+berth", kubernetes_version)},
          {"gitCommit", ""},
          {"gitTreeState", ""},
          {"buildDate", "1970-01-01T00:00:00Z"},
          {"goVersion", ""},
          {"compiler", "g++"},
          {"platform", "linux/amd64"}};
}

} // namespace berth::server
