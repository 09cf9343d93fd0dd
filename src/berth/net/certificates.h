// A small certificate authority: what a cluster of its own needs so that its API speaks TLS and
// knows its clients. ECDSA P-256, X.509 v3.
#pragma once

#include <string>
#include <vector>

#include "berth/base/result.h"
#include "berth/base/time.h"

namespace berth::net {

/// A certificate and its private key, PEM.
struct KeyPair {
  std::string certificate;
  std::string key;
};

struct CertificateRequest {
  std::string common_name;
  std::vector<std::string> organizations;
  /// Subject alternative names, for servers: "IP:127.0.0.1", "DNS:localhost". Empty: a client's
  /// certificate.
  std::vector<std::string> names;
  bool shown_by_servers_too = false; ///< a server's that it shows to others, as etcd's members do
  TimePoint not_before;
  TimePoint not_after;
};

/// A self-signed authority. Errors Internal: OpenSSL refused, e.g. for want of randomness.
Result<KeyPair> make_authority(const CertificateRequest& subject);
/// Signed by `authority`. Error BadRequest: `authority` cannot be read.
Result<KeyPair> issue(const KeyPair& authority, const CertificateRequest& subject);

} // namespace berth::net
