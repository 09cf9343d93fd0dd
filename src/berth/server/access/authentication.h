// Who sends a request: by client certificate, bearer token, or nobody in particular. Source:
// apiserver authentication/request (x509, bearertoken, union, anonymous, group).
#pragma once

#include <string_view>
#include <vector>

#include "berth/base/time.h"
#include "berth/net/http.h"
#include "berth/server/access/service_account_tokens.h"
#include "berth/server/access/static_tokens.h"
#include "berth/server/status.h"
#include "berth/server/user.h"

namespace berth::server {

enum class Anonymous { Allowed, Refused };

class Authenticator {
 public:
  /// `accounts` must outlive it.
  Authenticator(StaticTokens tokens, const ServiceAccountTokens& accounts, Anonymous anonymous);

  /// The first that knows the user wins: the certificate, then the token. A token that nobody knows
  /// is 401 where no certificate spoke before; other credentials, and none, are system:anonymous.
  /// Users but the anonymous one are in system:authenticated.
  Answer<User> authenticate(const net::HttpRequest& request, TimePoint now) const;

  /// Of a TokenReview. `audiences` empty: the API server's own. Tokens of the file are for the API
  /// server alone.
  std::optional<TokenBearer> review(std::string_view token,
                                    const std::vector<std::string>& audiences, TimePoint now) const;

 private:
  StaticTokens tokens_;
  const ServiceAccountTokens* accounts_;
  Anonymous anonymous_;
};

/// 401 Unauthorized.
Status unauthorized();

} // namespace berth::server
