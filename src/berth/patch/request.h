// A PATCH request as kube-apiserver answers it: which patch its Content-Type names, whether its
// options are well-formed, what becomes of the document, and the texts of what it refuses. Sources:
// apiserver's endpoints/handlers/patch.go, apimachinery's meta/v1/validation.
//
// A server does, in this order:
//   patch_kind, check_options;
//   patched(kind, live, body, type), or applied_object and apply (owners.h), which also creates;
//   schema::decode_document of what came out, defaults;
//   track_update (owners.h) unless it was an apply, before admission and what strategies reset;
//   admission, validation; keep_idle_times (managed_fields.h), and no write if nothing is left of
//   it.
// A dry run is all of this but the write.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/result.h"
#include "berth/patch/path.h"
#include "berth/schema/type.h"

namespace berth::patch {

enum class PatchKind {
  Json,           ///< application/json-patch+json
  Merge,          ///< application/merge-patch+json
  StrategicMerge, ///< application/strategic-merge-patch+json
  Apply,          ///< application/apply-patch+yaml, also +json
};

enum class KindOf {
  BuiltIn,
  CustomResource, ///< no strategic merge patch: their schemas name no merge keys
};

/// The patch that a Content-Type (with or without parameters) names. Error: UnsupportedMediaType.
Result<PatchKind> patch_kind(std::string_view content_type, KindOf of);

/// The query of a PATCH.
struct PatchOptions {
  std::string field_manager;
  std::optional<bool> force;
};
/// Apply needs a field manager, other patches take no force. Error: Invalid,
/// "PatchOptions.meta.k8s.io
/// "" is invalid: ...", with one cause a field.
Result<void> check_options(const PatchOptions& options, PatchKind kind);
/// What is wrong with a manager's name, for every kind of write: its length, what is unprintable.
/// Source: apimachinery metav1/validation ValidateFieldManager.
std::vector<Error> manager_errors(std::string_view manager);

/// `document` after a patch of any kind but Apply (owners.h). The result still needs decoding,
/// defaults and validation. Errors: BadRequest for a body that is no such patch; Invalid for a JSON
/// patch that cannot be done, whose reason kube-apiserver keeps to itself; what strategic_merge and
/// json_patch say.
Result<json::value> patched(PatchKind kind, const json::value& document, std::string_view body,
                            const schema::Type& type);

/// The object of an apply, from YAML or JSON. Error: BadRequest, "error decoding YAML: ...".
Result<json::value> applied_object(std::string_view body);

} // namespace berth::patch
