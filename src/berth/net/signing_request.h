// Requests for certificates (PKCS #10), read and signed. Source for what a certificate gets of its
// request: kubernetes/pkg/controller/certificates/authority.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "berth/base/result.h"
#include "berth/base/time.h"
#include "berth/net/certificates.h"

namespace berth::net {

/// What a request says of whom it is for.
struct RequestedSubject {
  std::string common_name;
  std::vector<std::string> organizations;
  std::vector<std::string> dns_names;
  std::vector<std::string> addresses; ///< IP addresses, as text
  std::vector<std::string> emails;
  std::vector<std::string> uris;
};
/// Error BadRequest: it is no request.
Result<RequestedSubject> read_request(std::string_view pem);

struct SigningTerms {
  TimePoint not_before;
  TimePoint not_after; ///< or when the authority ends, if that is sooner
  /// As Kubernetes calls them: "digital signature", "client auth"; others are left out.
  std::vector<std::string> usages;
};
/// The certificate, PEM: subject, names and key of the request. Errors: BadRequest, Internal.
Result<std::string> sign_request(const KeyPair& authority, std::string_view pem,
                                 const SigningTerms& terms);

} // namespace berth::net
