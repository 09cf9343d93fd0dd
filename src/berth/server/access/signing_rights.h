// Who may ask for which certificates, and approve them. Source: kubernetes
// plugin/pkg/admission/certificates (approval, subjectrestriction).
#pragma once

#include "berth/api/object.h"
#include "berth/server/access/rbac.h"

namespace berth::server {

/// Of a CertificateSigningRequest as it is to be written. Approving one takes the verb `approve` on
/// its signer ("signers", by name or as DOMAIN/*). Nobody asks for a client's certificate of the
/// group system:masters. Other kinds pass.
Result<void> check_signing_rights(const Rbac& rbac, const User& user, const RequestInfo& info,
                                  const boost::json::value& request);

} // namespace berth::server
