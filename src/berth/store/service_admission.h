// What the API server does to a Service: defaults, addresses and node ports. Sources:
// kubernetes/pkg/apis/core/v1/defaults.go, pkg/registry/core/service.
#pragma once

#include "berth/store/admission.h"

namespace berth::store {

Result<void> default_service(const AdmissionRequest& request, api::json::value& document);
/// A cluster IP of 10.96.0.0/16 and node ports of 30000-32767 that no other Service has, and the
/// address family. Error Internal: all are taken. O(Services).
Result<void> allocate_addresses(const AdmissionRequest& request, api::json::value& document);
/// Invalid: an address or a node port that another Service has, or that is none of the range's.
Result<void> check_ports_free(const AdmissionRequest& request, const api::Object& object);

} // namespace berth::store
