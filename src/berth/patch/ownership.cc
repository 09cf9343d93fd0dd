#include "berth/patch/ownership.h"

namespace berth::patch {
namespace {

void drop_empty(Managers& managers) {
  std::erase_if(managers, [](const auto& entry) { return entry.second.fields.empty(); });
}

/// What others own of what changed.
std::map<ManagerId, FieldSet> taken(const Managers& managers, const ManagerId& by,
                                    const FieldSet& changed) {
  std::map<ManagerId, FieldSet> out;
  for (const auto& [id, owned] : managers) {
    if (id != by) {
      if (FieldSet conflict = FieldSet::common(owned.fields, changed); !conflict.empty()) {
        out.emplace(id, std::move(conflict));
      }
    }
  }
  return out;
}

void take(Managers& managers, const ManagerId& by, const std::map<ManagerId, FieldSet>& conflicts,
          const FieldSet& removed) {
  for (auto& [id, owned] : managers) {
    if (const auto conflict = conflicts.find(id); conflict != conflicts.end()) {
      owned.fields = FieldSet::without(std::move(owned.fields), conflict->second);
    }
    if (id != by) {
      owned.fields = FieldSet::without(std::move(owned.fields), removed);
    }
  }
  drop_empty(managers);
}

// Fields whose schema changed between atomic and shared since they were recorded.
void reconcile(const OwnershipRules& rules, const json::value& live, Managers& managers) {
  for (auto& [id, owned] : managers) {
    owned.fields = under_type(owned.fields, *rules.type, live);
  }
}

/// Takes fields that the applier dropped out of an object that has them still.
class Pruner {
 public:
  Pruner(const schema::Type& type, const json::value& merged)
      : type_(type), merged_(merged), all_(named(fields_of(type, merged))) {}

  json::value prune(const FieldSet& last, const Managers& managers) const {
    const FieldSet dropped = named(last);
    FieldSet managed;
    for (const auto& [id, owned] : managers) {
      managed = FieldSet::united(std::move(managed), owned.fields);
    }
    // What went with its parent comes back if somebody owns it, ...
    const json::value pruned = remove_fields(type_, merged_, dropped);
    const FieldSet kept = FieldSet::united(fields(pruned), named(managed));
    const json::value owned = remove_fields(type_, merged_, FieldSet::without(all_, kept));
    // ... or if the applier never owned it.
    const FieldSet gone = FieldSet::without(all_, fields(owned));
    return remove_fields(type_, merged_, FieldSet::common(gone, dropped));
  }

 private:
  FieldSet named(const FieldSet& set) const { return with_named_parents(set, type_); }
  FieldSet fields(const json::value& value) const { return named(fields_of(type_, value)); }

  const schema::Type& type_;
  const json::value& merged_;
  FieldSet all_;
};

} // namespace

Managers owners_after_update(const OwnershipRules& rules, const json::value& live,
                             const json::value& updated, Managers managers, const ManagerId& by) {
  reconcile(rules, live, managers);
  Comparison comparison = without_trees(compare_typed(*rules.type, live, updated), *rules.resets);
  FieldSet changed = FieldSet::united(std::move(comparison.modified), std::move(comparison.added));
  take(managers, by, taken(managers, by, changed), comparison.removed);
  Owned& owned = managers[by];
  owned.fields = FieldSet::without_trees(
      FieldSet::united(FieldSet::without(std::move(owned.fields), comparison.removed),
                       std::move(changed)),
      *rules.resets);
  owned.api_version = rules.api_version;
  drop_empty(managers);
  return managers;
}

std::variant<Applied, std::vector<OwnershipConflict>>
owners_after_apply(const OwnershipRules& rules, const json::value& live, const json::value& applied,
                   Managers managers, const ManagerId& by, bool force) {
  reconcile(rules, live, managers);
  const json::value merged = merge_typed(*rules.type, live, applied);
  Owned& owned = managers[by];
  const FieldSet last = std::exchange(
      owned.fields, FieldSet::without_trees(fields_of(*rules.type, applied), *rules.resets));
  owned.api_version = rules.api_version;

  Applied out;
  out.object = last.empty() ? merged : Pruner(*rules.type, merged).prune(last, managers);
  const Comparison comparison =
      without_trees(compare_typed(*rules.type, live, out.object), *rules.resets);
  const auto conflicts = taken(managers, by, comparison.changed());
  if (!force && !conflicts.empty()) {
    std::vector<OwnershipConflict> list;
    for (const auto& [id, fields] : conflicts) {
      fields.each([&](const Path& path) { list.push_back({.manager = id, .path = path}); });
    }
    return list;
  }
  take(managers, by, conflicts, comparison.removed);
  out.managers = std::move(managers);
  out.same = same_value(live, out.object);
  return out;
}

} // namespace berth::patch
