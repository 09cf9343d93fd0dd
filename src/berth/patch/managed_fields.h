// metadata.managedFields: who owns which fields of an object, one entry a manager, operation,
// version and subresource. Sources: KEP-555, apimachinery's util/managedfields.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "berth/base/result.h"
#include "berth/base/time.h"
#include "berth/patch/field_set.h"

namespace berth::patch {

enum class Operation { Apply, Update };

/// What tells entries apart: an applier has one entry whatever version it applied, an updater one a
/// version.
struct ManagerId {
  std::string manager;
  Operation operation = Operation::Update;
  std::string api_version; ///< Update only
  std::string subresource; ///< "" or "status"

  auto operator<=>(const ManagerId&) const = default;
};

struct Owned {
  FieldSet fields;
  std::string api_version;
  std::optional<std::string> time; ///< RFC 3339, as it was read
};

using Managers = std::map<ManagerId, Owned>;

/// The entries of an object. Error: Invalid, in Kubernetes' words; nothing is read then.
Result<Managers> read_managed_fields(const json::value& object);
/// Sets metadata.managedFields, or removes it if there is no manager. Entries are ordered by
/// operation, time, manager, version and subresource.
void write_managed_fields(json::value& object, const Managers& managers);
void remove_managed_fields(json::value& object);

/// Whether the request asks to forget all managers: [] or [{}].
bool resets_managed_fields(const json::value& object);

/// At most 10 updaters stay apart: the oldest of a version become one, "ancient-changes".
void cap_updaters(Managers& managers);

/// Gives `updated` the managedFields of `live` if nothing but their times differs, so that an idle
/// write is seen to be one.
void keep_idle_times(const json::value& live, json::value& updated);

/// fieldManager=, else the user agent up to its first '/', 128 bytes of it that print; "unknown" if
/// that is empty.
std::string manager_name(std::string_view field_manager, std::string_view user_agent);

} // namespace berth::patch
