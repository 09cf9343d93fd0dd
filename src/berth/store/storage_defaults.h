// What the API server fills in for claims, volumes, classes and drivers of storage. Source:
// kubernetes/pkg/apis/core/v1/defaults.go, pkg/apis/storage/v1/defaults.go.
#pragma once

#include "berth/store/admission.h"

namespace berth::store {

/// Held by a claim while a pod may use it, and by a volume while it is bound.
inline constexpr std::string_view kClaimProtection = "kubernetes.io/pvc-protection";
inline constexpr std::string_view kVolumeProtection = "kubernetes.io/pv-protection";

Result<void> default_storage(const AdmissionRequest& request, api::json::value& document);
/// Gives new claims the default class, and new claims and volumes what protects them. Source: the
/// admission plugins DefaultStorageClass and StorageObjectInUseProtection.
Result<void> admit_storage(const AdmissionRequest& request, api::json::value& document);

} // namespace berth::store
