// What drivers of storage say of themselves and of nodes. Source:
// kubernetes/pkg/apis/storage/validation.
#pragma once

#include "berth/store/admission.h"
#include "berth/store/validation/judged.h"

namespace berth::store {

/// CSIDriver, CSINode, CSIStorageCapacity, VolumeAttachment; other kinds pass.
void check_csi(const AdmissionRequest& request, const Judged& whole);

} // namespace berth::store
