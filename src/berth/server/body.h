// The objects and options in request bodies.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "berth/api/object.h"
#include "berth/schema/type.h"
#include "berth/server/call.h"

namespace berth::server {

/// dryRun, fieldManager, fieldValidation and force of a write.
struct WriteQuery {
  bool dry_run = false;
  bool force = false;
  std::string manager;       ///< fieldManager, else from the User-Agent; never empty
  std::string field_manager; ///< fieldManager as given
};

/// 422 in the words of `kind` ("CreateOptions", "PatchOptions", ...) for options that mean nothing.
Answer<WriteQuery> write_query(const Call& call, std::string_view kind);

/// The object of a POST or PUT, checked and normalised against `type` of `gvk`. Warnings go to the
/// call.
Answer<api::json::value> read_object(Call& call, const api::GroupVersionKind& gvk,
                                     const schema::Type& type);
/// The same of a text that is no body, such as a patched object.
Answer<api::json::value> checked_object(Call& call, const api::GroupVersionKind& gvk,
                                        const schema::Type& type, std::string_view text);
/// Any JSON or YAML body; null for none.
Answer<api::json::value> read_any(const Call& call);

/// Of the body and the query of a DELETE.
struct DeleteQuery {
  store::DeleteOptions options;
  bool dry_run = false;
};
Answer<DeleteQuery> delete_query(const Call& call);

} // namespace berth::server
