// How ownership of fields moves between managers when an object changes. Source:
// structured-merge-diff's merge/update.go.
#pragma once

#include <variant>
#include <vector>

#include "berth/patch/managed_fields.h"
#include "berth/patch/typed.h"

namespace berth::patch {

/// A field that an applier wants to change and another manager owns.
struct OwnershipConflict {
  ManagerId manager;
  Path path;
};

/// Objects of one type, the field sets under it, and what nobody comes to own.
struct OwnershipRules {
  const schema::Type* type = nullptr;
  const FieldSet* resets = nullptr;
  std::string api_version;
};

/// `managers` after `by` wrote `updated` over `live`: others lose what differs or is gone, `by`
/// gains what differs. An entry without fields goes.
Managers owners_after_update(const OwnershipRules& rules, const json::value& live,
                             const json::value& updated, Managers managers, const ManagerId& by);

struct Applied {
  json::value object;
  Managers managers;
  bool same = false; ///< `object` is what was live
};

/// `applied` merged into `live` by `by`, without what `by` applied last time, does not apply now
/// and nobody else owns. Conflicts are returned unless `force`.
std::variant<Applied, std::vector<OwnershipConflict>>
owners_after_apply(const OwnershipRules& rules, const json::value& live, const json::value& applied,
                   Managers managers, const ManagerId& by, bool force);

} // namespace berth::patch
