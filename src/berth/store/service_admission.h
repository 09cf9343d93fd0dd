// What the API server does to a Service: defaults, addresses and node ports, validation of its
// ports. Sources: kubernetes/pkg/apis/core/v1/defaults.go, pkg/registry/core/service.
#pragma once

#include "berth/store/admission.h"

namespace berth::store {

Result<void> default_service(const AdmissionRequest& request, api::json::value& document);
/// A cluster IP of 10.96.0.0/16 and node ports of 30000-32767 that no other Service has, and the
/// address family. Error Internal: all are taken. O(Services).
Result<void> allocate_addresses(const AdmissionRequest& request, api::json::value& document);
Result<void> check_service(const AdmissionRequest& request, const api::Object& object);

} // namespace berth::store
