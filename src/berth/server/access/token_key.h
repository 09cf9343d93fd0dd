// The key that signs a cluster's service account tokens: ECDSA over P-256 with SHA-256, "ES256" of
// RFC 7518. OpenSSL stays inside the source.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "berth/base/result.h"

struct evp_pkey_st;

namespace berth::server {

/// Shared and immutable.
class TokenKey {
 public:
  /// Errors Internal: OpenSSL refused, e.g. for want of randomness.
  static Result<TokenKey> generate();
  /// A private key as PEM. Error BadRequest: it cannot be read, or is of another kind.
  static Result<TokenKey> from_pem(std::string_view pem);

  std::string pem() const;
  /// Names the key in a token's head, as Kubernetes does: base64url of the SHA-256 of the public
  /// key.
  const std::string& id() const { return id_; }
  /// 64 bytes: r and s.
  Result<std::string> sign(std::string_view text) const;
  bool verify(std::string_view text, std::string_view signature) const;

 private:
  explicit TokenKey(std::shared_ptr<evp_pkey_st> key);

  std::shared_ptr<evp_pkey_st> key_;
  std::string id_;
};

/// The 32 bytes of a text's SHA-256.
std::string sha256(std::string_view text);
/// In a time that depends on the lengths alone.
bool equal_in_constant_time(std::string_view a, std::string_view b);

} // namespace berth::server
