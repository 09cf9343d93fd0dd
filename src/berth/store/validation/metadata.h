// Metadata of any object: names, labels, annotations, owners, finalizers. Source: apimachinery
// api/validation ValidateObjectMeta, ValidateObjectMetaUpdate.
#pragma once

#include "berth/store/admission.h"
#include "berth/store/validation/judged.h"

namespace berth::store {

void check_metadata(const AdmissionRequest& request, const api::Object& object,
                    FieldErrors& errors);

/// Keys, and the size of all together.
void check_annotations(const Judged& annotations);

/// Names that become one segment of a URL and are otherwise free, as RBAC's are.
std::vector<std::string> path_segment_errors(std::string_view name);

} // namespace berth::store
