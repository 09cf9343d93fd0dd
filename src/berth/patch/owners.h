// Who owns the fields of an object: what every write to a stored object does to its managedFields,
// and server-side apply. Pure functions of the objects, their type and the time. Sources: KEP-555;
// apimachinery's util/managedfields; structured-merge-diff's merge/update.go.
//
// Berth converts nothing between versions: all managers' fields are read under one type.
#pragma once

#include <string>

#include "berth/base/result.h"
#include "berth/base/time.h"
#include "berth/patch/field_set.h"
#include "berth/schema/type.h"

namespace berth::patch {

/// Who writes, and through what.
struct Writer {
  std::string manager;     ///< manager_name() of the request
  std::string subresource; ///< "" or "status"
  TimePoint now;
};

/// The kind that is written.
struct Target {
  const schema::Type* type = nullptr; ///< never null; deduced_type() for kinds without a schema
  std::string group;
  std::string version;
  std::string kind;
  /// What an object of the kind has before anything is said: the live object of a create. See
  /// zero_object.
  json::value zero;
  /// Fields that the strategy of this (sub)resource resets: nobody comes to own them. See
  /// reset_fields.
  FieldSet resets;

  std::string api_version() const { return group.empty() ? version : group + "/" + version; }
};

/// `updated` with its managedFields: the writer owns what differs from `live` (Target::zero on
/// create), nobody owns what is gone or is now another's. managedFields that the request brings are
/// taken unless they cannot be read or the request goes to a subresource; [] or [{}] clears them.
/// Never fails: an object that is not of its type keeps the live managedFields.
json::value track_update(const Target& target, const json::value& live, json::value updated,
                         const Writer& writer);

enum class Conflicts { Refused, Forced };

/// Server-side apply of `applied` to `live` (Target::zero on create). The result still needs
/// decoding, defaults and validation. It equals `live` if nothing changes.
/// Errors: Conflict, with a cause (where.field) for each field that another manager owns with
/// another value; BadRequest for another kind or for managedFields in `applied`; Internal (500
/// without a reason) if `applied` is not of the type.
Result<json::value> apply(const Target& target, const json::value& live, const json::value& applied,
                          const Writer& writer, Conflicts conflicts);

/// The object of a kind that says nothing: apiVersion, kind, and what Go writes for an empty
/// struct: structs held by value (their default is {}), required lists as null.
json::value zero_object(const schema::Type& type, std::string_view api_version,
                        std::string_view kind);

/// What the strategies of a resource (subresource "") and of its status reset. `has_status`: the
/// kind has a status subresource.
FieldSet reset_fields(std::string_view group, std::string_view kind, std::string_view subresource,
                      bool has_status);

} // namespace berth::patch
