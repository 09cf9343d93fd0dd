// What the server serves at this moment: the built-in resources and those that
// CustomResourceDefinitions add.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "berth/schema/catalogue.h"
#include "berth/schema/resource.h"

namespace berth::server {

class Resources {
 public:
  explicit Resources(const schema::Catalogue& builtin);

  /// nullptr if it is not served. O(log resources).
  const schema::Resource* find(std::string_view group, std::string_view version,
                               std::string_view plural) const;
  const schema::Resource* of(const api::GroupVersionKind& gvk) const;
  bool has_version(std::string_view group, std::string_view version) const;
  /// In discovery's order: built-in groups first, then others by name; versions as preferred.
  std::vector<const schema::Resource*> all() const;

  /// Grows whenever what is served changes; at least 1.
  std::uint64_t changes() const { return changes_; }

  /// Serves these instead of what `definition` (a CustomResourceDefinition's name) brought before.
  void define(const std::string& definition, std::vector<schema::Resource> resources);

 private:
  void index();

  std::uint64_t changes_ = 0;
  const schema::Catalogue* builtin_;
  std::map<std::string, std::vector<schema::Resource>> custom_;         ///< by definition
  std::map<std::string, const schema::Resource*, std::less<>> by_path_; ///< "group/version/plural"
};

} // namespace berth::server
