// Tokens of service accounts: signed, for a time, bound to the account and perhaps to a pod or a
// node. Source: kubernetes pkg/registry/core/serviceaccount/storage/token.go, pkg/serviceaccount.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "berth/base/rng.h"
#include "berth/base/time.h"
#include "berth/server/access/token_key.h"
#include "berth/server/status.h"
#include "berth/server/user.h"
#include "berth/store/registry.h"

namespace berth::server {

struct TokenOptions {
  std::string issuer = "https://kubernetes.default.svc.cluster.local";
  /// Of the API server; a token for none of them is no good here. Empty: the issuer.
  std::vector<std::string> audiences = {};
};

/// Whom a token names, and which of the audiences asked for it is meant for.
struct TokenBearer {
  User user;
  std::vector<std::string> audiences;
};

class ServiceAccountTokens {
 public:
  /// The registry must outlive it. `rng`: of the tokens' ids, which need not be secret.
  ServiceAccountTokens(const store::Registry& registry, TokenKey key, TokenOptions options,
                       Rng rng);

  /// POST serviceaccounts/NAME/token: the TokenRequest with its status. Errors: NotFound (account,
  /// or the object to bind to), Invalid (name, expiry), BadRequest, Conflict (uid of that object).
  Answer<boost::json::object> request(const api::Key& account, const boost::json::value& body,
                                      TimePoint now);
  /// None for anything but a token of this key and issuer, in its time, for one of `audiences`,
  /// whose account (and what it is bound to) is still there with the same uid.
  std::optional<TokenBearer> verify(std::string_view token,
                                    const std::vector<std::string>& audiences, TimePoint now) const;
  const std::vector<std::string>& audiences() const { return options_.audiences; }

 private:
  Answer<boost::json::object> claims(const api::Object& account, const boost::json::object& spec,
                                     TimePoint now);
  bool stands(const boost::json::value& claims, const User& account, TimePoint now) const;

  const store::Registry* registry_;
  TokenKey key_;
  TokenOptions options_;
  Rng rng_;
};

} // namespace berth::server
