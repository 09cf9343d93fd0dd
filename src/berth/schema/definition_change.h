// What is said of a CustomResourceDefinition beside its own soundness: what an update may not
// change, and who may define in Kubernetes' groups. Source: apiextensions-apiserver
// pkg/apis/apiextensions/validation.
#pragma once

#include <boost/json/value.hpp>

#include "berth/schema/field_error.h"

namespace berth::schema {

/// `before` is null for a new definition. Names and scope of an established one stay, and so does
/// every version that objects may be stored as.
FieldErrors check_definition_change(const boost::json::value* before,
                                    const boost::json::value& now);

/// Fields that a version may be selected by, and where its scale lies.
FieldErrors check_version_paths(const boost::json::value& version, const std::string& path);

} // namespace berth::schema
