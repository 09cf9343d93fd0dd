// The annotation of client-side apply, which server-side apply by kubectl takes over from. Source:
// apimachinery's util/managedfields (lastappliedmanager.go, lastappliedupdater.go).
#pragma once

#include <optional>
#include <string_view>

#include "berth/patch/field_set.h"
#include "berth/schema/type.h"

namespace berth::patch {

/// The manager whose applies heed the annotation.
inline constexpr std::string_view kKubectl = "kubectl";

/// The fields of the last client-side apply that `live` still has as they were applied; nothing
/// without a readable annotation of this version.
std::optional<FieldSet> last_applied_fields(const schema::Type& type, const json::value& live,
                                            std::string_view api_version);

/// Writes `applied` into the annotation of `object`, if it has one.
void refresh_last_applied(json::value& object, const json::value& applied);

} // namespace berth::patch
