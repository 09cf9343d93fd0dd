// Claims, volumes, classes and drivers of storage. Source: kubernetes/pkg/apis/core/validation
// ValidatePersistentVolumeClaimSpec, ValidatePersistentVolumeSpec; pkg/apis/storage/validation.
#pragma once

#include "berth/store/admission.h"
#include "berth/store/validation/judged.h"

namespace berth::store {

/// PersistentVolumeClaim, PersistentVolume, StorageClass, and the kinds of csi.h.
void check_storage(const AdmissionRequest& request, const api::Object& object, FieldErrors& errors);

/// The spec of a claim, or of a volume's claim template.
void check_claim_spec(const Judged& spec);
/// "ebs.csi.aws.com"; 63 bytes at most.
void check_csi_driver_name(const Judged& name);

} // namespace berth::store
