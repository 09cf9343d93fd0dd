// Where types live: one arena holds all types that refer to each other, and a TypePtr to any of
// them keeps the whole arena alive.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "berth/schema/type.h"

namespace berth::schema {

/// Types being built. Addresses are stable. Built once, then shared as const.
class Arena {
 public:
  Type& add() { return types_.emplace_back(); }
  /// The type of that name, added without form when it is asked for the first time.
  Type& named(std::string_view name);
  /// nullptr if there is none of that name.
  const Type* find(std::string_view name) const;
  const std::map<std::string, Type*, std::less<>>& by_name() const { return names_; }

 private:
  std::deque<Type> types_;
  std::map<std::string, Type*, std::less<>> names_;
};

/// `type`, which lives in `arena`.
inline TypePtr pointer_into(const std::shared_ptr<const Arena>& arena, const Type& type) {
  return {arena, &type};
}

} // namespace berth::schema
