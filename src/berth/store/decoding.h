// Refuses objects of the kinds Berth acts on whose fields have the wrong types, so that no
// component ever meets one it cannot read. The typed view made here is the one that readers share.
#pragma once

#include "berth/store/admission.h"

namespace berth::store {

/// BadRequest: Pod in version "v1" cannot be handled as a Pod: FIELD: WHY.
Result<void> check_decodable(const AdmissionRequest& request, const api::Object& object);

} // namespace berth::store
