// Values under their types, as server-side apply sees them: validated, turned into the set of their
// fields, compared, merged, pruned. Source: structured-merge-diff's typed package (v6).
#pragma once

#include <optional>

#include "berth/base/result.h"
#include "berth/patch/field_set.h"
#include "berth/schema/type.h"

namespace berth::patch {

enum class Duplicates {
  Refused, ///< what a user applies
  Allowed, ///< what is stored: elements of equal keys count as one
};

/// Whether `value` is of `type`. Error: Invalid, "field not declared in schema" and such with their
/// paths, one or "errors:" and one a line.
Result<void> check_typed(const schema::Type& type, const json::value& value, Duplicates duplicates);

/// Every leaf and every element or key that `value` mentions. O(value). Needs a checked value.
FieldSet fields_of(const schema::Type& type, const json::value& value);

/// How `right` differs from `left`. No field is in two of the sets.
struct Comparison {
  FieldSet removed;
  FieldSet modified;
  FieldSet added;

  bool same() const { return removed.empty() && modified.empty() && added.empty(); }
  FieldSet changed() const { return FieldSet::united(modified, added); }
};
Comparison compare_typed(const schema::Type& type, const json::value& left,
                         const json::value& right);
/// Without the trees of `ignored`.
Comparison without_trees(Comparison comparison, const FieldSet& ignored);

/// `live` with all that `applied` says: leaves replaced, maps and shared lists joined. Elements are
/// ordered as `applied` has them, those of `live` alone keep their places between.
json::value merge_typed(const schema::Type& type, const json::value& live,
                        const json::value& applied);

/// `value` without the fields of `removed`. A map or shared list that lost all it had is null, as
/// Kubernetes leaves it; decoding drops nulls.
json::value remove_fields(const schema::Type& type, const json::value& value,
                          const FieldSet& removed);

/// `set` with the structs' fields that have members below them as members themselves.
FieldSet with_named_parents(const FieldSet& set, const schema::Type& type);

/// `set` as it is under a type whose lists or maps became atomic (members below go to the whole) or
/// shared (the owner of the whole owns what `live` has in it).
FieldSet under_type(const FieldSet& set, const schema::Type& type, const json::value& live);

} // namespace berth::patch
