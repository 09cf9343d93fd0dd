#include "berth/server/resources.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace berth::server {

Resources::Resources(const schema::Catalogue& builtin) : builtin_(&builtin) {
  index();
}

void Resources::index() {
  ++changes_;
  by_path_.clear();
  for (const schema::Resource* resource : all()) {
    by_path_.emplace(fmt::format("{}/{}/{}", resource->group, resource->version, resource->plural),
                     resource);
  }
}

const schema::Resource* Resources::find(std::string_view group, std::string_view version,
                                        std::string_view plural) const {
  const auto at = by_path_.find(fmt::format("{}/{}/{}", group, version, plural));
  return at == by_path_.end() ? nullptr : at->second;
}

const schema::Resource* Resources::of(const api::GroupVersionKind& gvk) const {
  const auto at =
      std::ranges::find_if(by_path_, [&](const auto& entry) { return entry.second->gvk() == gvk; });
  return at == by_path_.end() ? nullptr : at->second;
}

bool Resources::has_version(std::string_view group, std::string_view version) const {
  const std::string prefix = fmt::format("{}/{}/", group, version);
  const auto at = by_path_.lower_bound(prefix);
  return at != by_path_.end() && at->first.starts_with(prefix);
}

std::vector<const schema::Resource*> Resources::all() const {
  std::vector<const schema::Resource*> found;
  for (const schema::Resource& resource : builtin_->resources()) {
    found.push_back(&resource);
  }
  const auto builtins = static_cast<std::ptrdiff_t>(found.size());
  for (const auto& [definition, resources] : custom_) {
    for (const schema::Resource& resource : resources) {
      found.push_back(&resource);
    }
  }
  std::stable_sort(found.begin() + builtins, found.end(),
                   [](const auto* a, const auto* b) { return a->group < b->group; });
  return found;
}

void Resources::define(const std::string& definition, std::vector<schema::Resource> resources) {
  if (resources.empty()) {
    custom_.erase(definition);
  } else {
    custom_.insert_or_assign(definition, std::move(resources));
  }
  index();
}

} // namespace berth::server
