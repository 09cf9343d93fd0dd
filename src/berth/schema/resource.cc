#include "berth/schema/resource.h"

#include <algorithm>

namespace berth::schema {

const Subresource* Resource::subresource(std::string_view wanted) const {
  const auto at = std::ranges::find(subresources, wanted, &Subresource::name);
  return at == subresources.end() ? nullptr : &*at;
}

bool Resource::can(std::string_view verb) const {
  return std::ranges::find(verbs, verb) != verbs.end();
}

} // namespace berth::schema
