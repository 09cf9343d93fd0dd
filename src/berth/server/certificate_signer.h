// Signs CertificateSigningRequests that somebody has approved, with the cluster's own authority:
// those for clients of the API server, for kubelets as its clients, and for kubelets as servers.
// Requests for other signers are left to them. Source:
// kubernetes/pkg/controller/certificates/signer.
#pragma once

#include <memory>

#include "berth/base/loop.h"
#include "berth/net/certificates.h"
#include "berth/store/registry.h"

namespace berth::server {

/// Follows the store from the moment it is made; loop and registry must outlive it. A request that
/// its signer may not sign gets the condition Failed. Certificates last a year, or as long as the
/// request says, and never longer than the authority.
class CertificateSigner {
 public:
  /// Error: the store's, if it cannot be watched.
  static Result<std::unique_ptr<CertificateSigner>> open(Loop& loop, store::Registry& registry,
                                                         net::KeyPair authority);
  ~CertificateSigner();
  CertificateSigner(const CertificateSigner&) = delete;
  CertificateSigner& operator=(const CertificateSigner&) = delete;

 private:
  struct State;
  explicit CertificateSigner(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

} // namespace berth::server
