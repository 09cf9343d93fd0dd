#include "berth/schema/arena.h"

namespace berth::schema {

Type& Arena::named(std::string_view name) {
  const auto at = names_.find(name);
  if (at != names_.end()) {
    return *at->second;
  }
  Type& type = add();
  type.name = name;
  names_.emplace(name, &type);
  return type;
}

const Type* Arena::find(std::string_view name) const {
  const auto at = names_.find(name);
  return at == names_.end() ? nullptr : at->second;
}

} // namespace berth::schema
