// Defaults and checks of kinds that need few: Namespace, ResourceQuota, Lease.
#pragma once

#include "berth/store/admission.h"

namespace berth::store {

/// A namespace's phase and its name as a label; an empty status for a quota.
Result<void> default_small_kinds(const AdmissionRequest& request, api::json::value& document);

/// A lease's duration is positive; a quota's limits are not negative.
Result<void> check_small_kinds(const AdmissionRequest& request, const api::Object& object);

} // namespace berth::store
