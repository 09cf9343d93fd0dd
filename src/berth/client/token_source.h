// Tokens of service accounts for pods, from a server that issues them (the TokenRequest
// subresource).
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "berth/api/object.h"
#include "berth/base/result.h"
#include "berth/base/time.h"

namespace berth::client {

struct TokenRequest {
  api::Key service_account;
  std::string audience; ///< "": the server's own
  std::int64_t expiration_seconds = 3600;
  std::string pod_name; ///< whose end is the token's too
  std::string pod_uid;
};

struct Token {
  std::string text;
  TimePoint expires;
  Duration life; ///< from its issue to then, which may be another than was asked for
};

class TokenSource {
 public:
  virtual ~TokenSource() = default;
  /// `done` is a later task. Error NotFound: no such account, or a server that issues no tokens.
  virtual void request_token(const TokenRequest& request,
                             std::function<void(Result<Token>)> done) = 0;
};

} // namespace berth::client
