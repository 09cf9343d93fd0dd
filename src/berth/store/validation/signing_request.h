// CertificateSigningRequests. Source: kubernetes/pkg/apis/certificates/validation and the
// strategies of pkg/registry/certificates/certificates.
#pragma once

#include "berth/store/admission.h"

namespace berth::store {

/// The request and its signature, usages, signer and conditions. What `Subresource::Approval` may
/// do, Status may not, and the other way round.
void check_signing_request(const AdmissionRequest& request, const api::Object& object,
                           FieldErrors& errors);
/// The times of a signing request's conditions, which their writer may leave out; other kinds are
/// left alone.
void complete_conditions(const api::Object& before, TimePoint now, api::json::object& document);

} // namespace berth::store
