#include "berth/patch/owners.h"

#include <algorithm>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/api/kinds.h"
#include "berth/patch/last_applied.h"
#include "berth/patch/ownership.h"

namespace berth::patch {
namespace {

constexpr std::string_view kBeforeFirstApply = "before-first-apply";

// Which fields Kubernetes never tracks.
const FieldSet& untracked() {
  static const FieldSet kUntracked = [] {
    FieldSet out;
    out.insert({"apiVersion"});
    out.insert({"kind"});
    out.insert({"metadata"});
    for (const std::string_view field :
         {"name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName", "generation",
          "managedFields", "resourceVersion"}) {
      out.insert({"metadata", field});
    }
    return out;
  }();
  return kUntracked;
}

void strip(Managers& managers, const ManagerId& id) {
  const auto at = managers.find(id);
  if (at == managers.end()) {
    return;
  }
  at->second.fields = FieldSet::without(std::move(at->second.fields), untracked());
  if (at->second.fields.empty()) {
    managers.erase(at);
  }
}

json::value without_managed_fields(json::value object) {
  remove_managed_fields(object);
  return object;
}

OwnershipRules rules_of(const Target& target) {
  return {.type = target.type, .resets = &target.resets, .api_version = target.api_version()};
}

/// The managers after an update; `updated` is without managedFields.
Managers updated_managers(const Target& target, const json::value& live, const json::value& updated,
                          Managers managers, const Writer& writer) {
  // A manager of this name cannot be stored: names of requests are not empty.
  const ManagerId operation;
  managers = owners_after_update(rules_of(target), live, updated, std::move(managers), operation);
  strip(managers, operation);
  if (auto now = managers.extract(operation)) {
    Owned& owned = managers[{.manager = writer.manager,
                             .operation = Operation::Update,
                             .api_version = target.api_version(),
                             .subresource = writer.subresource}];
    owned.fields = FieldSet::united(std::move(owned.fields), std::move(now.mapped().fields));
    owned.api_version = target.api_version();
    owned.time = to_rfc3339(writer.now);
  }
  cap_updaters(managers);
  return managers;
}

Managers managers_of_request(const json::value& live, const json::value& updated,
                             const Writer& writer) {
  if (writer.subresource.empty()) {
    if (resets_managed_fields(updated)) {
      return {};
    }
    if (auto sent = read_managed_fields(updated); sent && !sent->empty()) {
      return std::move(*sent);
    }
  }
  return read_managed_fields(live).value_or(Managers());
}

bool is_stored(const json::value& object) {
  return !api::string_at(object, "metadata.uid").empty();
}

std::string quoted(std::string_view text) {
  return api::to_json(json::value(text));
}

std::string shown(const ManagerId& id) {
  std::string out = quoted(id.manager);
  if (!id.subresource.empty()) {
    out += " with subresource " + quoted(id.subresource);
  }
  return id.operation == Operation::Update ? out + " using " + id.api_version : out;
}

std::string message_of(const std::vector<OwnershipConflict>& conflicts) {
  if (conflicts.size() == 1) {
    return fmt::format("Apply failed with 1 conflict: conflict with {}: {}",
                       shown(conflicts[0].manager), to_string(conflicts[0].path));
  }
  std::string out = fmt::format("Apply failed with {} conflicts: ", conflicts.size());
  for (std::size_t i = 0; i < conflicts.size(); ++i) {
    if (i == 0 || conflicts[i].manager != conflicts[i - 1].manager) {
      out += fmt::format("{}conflicts with {}:", i == 0 ? "" : "\n", shown(conflicts[i].manager));
    }
    out += "\n- " + to_string(conflicts[i].path);
  }
  return out;
}

tl::unexpected<Error> refused(const std::vector<OwnershipConflict>& conflicts) {
  Error error{.code = Code::Conflict, .message = message_of(conflicts), .where = {}, .causes = {}};
  for (const OwnershipConflict& conflict : conflicts) {
    Where where;
    where.field = to_string(conflict.path);
    error.causes.push_back({.code = Code::Conflict,
                            .message = "conflict with " + shown(conflict.manager),
                            .where = std::move(where),
                            .causes = {}});
  }
  return tl::unexpected(std::move(error));
}

std::string gvk_text(const api::GroupVersionKind& gvk) {
  return fmt::format("{}/{}, Kind={}", gvk.group, gvk.version, gvk.kind);
}

/// "default/a; /v1, Kind=Pod".
std::string object_text(const json::value& object) {
  return fmt::format("{}/{}; {}", api::string_at(object, "metadata.namespace"),
                     api::string_at(object, "metadata.name"),
                     gvk_text(api::make_gvk(api::string_at(object, "apiVersion"),
                                            api::string_at(object, "kind"))));
}

Result<void> check_applied(const Target& target, const json::value& applied) {
  const auto gvk =
      api::make_gvk(api::string_at(applied, "apiVersion"), api::string_at(applied, "kind"));
  if (gvk != api::GroupVersionKind{target.group, target.version, target.kind}) {
    return fail(Code::BadRequest, "invalid object type: " + gvk_text(gvk));
  }
  if (api::find_path(applied, "metadata.managedFields") != nullptr) {
    return fail(Code::BadRequest, "metadata.managedFields must be nil");
  }
  if (auto typed = check_typed(*target.type, applied, Duplicates::Refused); !typed) {
    return fail(Code::Internal, fmt::format("failed to create typed patch object ({}): {}",
                                            object_text(applied), typed.error().message));
  }
  return {};
}

// Conflicts with what the user's own client-side applies wrote are no conflicts for kubectl.
bool only_with_last_applied(const Target& target, const json::value& live,
                            std::vector<OwnershipConflict>& conflicts) {
  const auto own = last_applied_fields(*target.type, live, target.api_version());
  if (!own) {
    return false;
  }
  std::vector<OwnershipConflict> others;
  std::ranges::copy_if(conflicts, std::back_inserter(others),
                       [&](const OwnershipConflict& conflict) { return !own->has(conflict.path); });
  if (others.empty()) {
    return true;
  }
  conflicts = std::move(others);
  return false;
}

} // namespace

json::value track_update(const Target& target, const json::value& live, json::value updated,
                         const Writer& writer) {
  Managers managers = managers_of_request(live, updated, writer);
  remove_managed_fields(updated);
  // An object whose managers were cleared stays without until it is applied to.
  if (managers.empty() && is_stored(live)) {
    return updated;
  }
  if (!check_typed(*target.type, updated, Duplicates::Allowed)) {
    write_managed_fields(updated, read_managed_fields(live).value_or(Managers()));
    return updated;
  }
  // That `live` has managedFields and `updated` has not takes nothing from anybody.
  write_managed_fields(updated,
                       updated_managers(target, live, updated, std::move(managers), writer));
  return updated;
}

Result<json::value> apply(const Target& target, const json::value& live, const json::value& applied,
                          const Writer& writer, Conflicts conflicts) {
  auto managers = read_managed_fields(live);
  if (!managers) {
    return fail(Code::Internal, "failed to decode managed fields: " + managers.error().message);
  }
  BERTH_CHECK(check_applied(target, applied));
  const json::value before = without_managed_fields(live);
  if (auto typed = check_typed(*target.type, before, Duplicates::Allowed); !typed) {
    return fail(Code::Internal, fmt::format("failed to create typed live object ({}): {}",
                                            object_text(before), typed.error().message));
  }
  if (managers->empty()) {
    *managers = updated_managers(target, target.zero, before, {},
                                 {.manager = std::string(kBeforeFirstApply),
                                  .subresource = writer.subresource,
                                  .now = writer.now});
  }

  const ManagerId id{.manager = writer.manager,
                     .operation = Operation::Apply,
                     .api_version = "",
                     .subresource = writer.subresource};
  const auto attempt = [&](bool force) {
    return owners_after_apply(rules_of(target), before, applied, *managers, id, force);
  };
  auto outcome = attempt(conflicts == Conflicts::Forced);
  if (auto* found = std::get_if<std::vector<OwnershipConflict>>(&outcome)) {
    if (writer.manager != kKubectl || !only_with_last_applied(target, before, *found)) {
      return refused(*found);
    }
    outcome = attempt(true);
  }
  Applied& done = std::get<Applied>(outcome);
  strip(done.managers, id);
  if (const auto at = done.managers.find(id); at != done.managers.end() && !done.same) {
    at->second.time = to_rfc3339(writer.now);
  }
  if (writer.manager == kKubectl) {
    refresh_last_applied(done.object, applied);
  }
  write_managed_fields(done.object, done.managers);
  return std::move(done.object);
}

} // namespace berth::patch
