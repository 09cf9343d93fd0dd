// Service account tokens of an API server in this process, for a node in this process.
#pragma once

#include <functional>

#include "berth/base/loop.h"
#include "berth/client/token_source.h"
#include "berth/server/api_server.h"

namespace berth::cli {

/// The loop must outlive it.
class IssuedTokens final : public client::TokenSource {
 public:
  /// `server` gives the server, or nullptr for as long as there is none: it begins after the node.
  IssuedTokens(Loop& loop, std::function<server::ApiServer*()> server);

  void request_token(const client::TokenRequest& request,
                     std::function<void(Result<client::Token>)> done) override;

 private:
  Loop* loop_;
  std::function<server::ApiServer*()> server_;
};

} // namespace berth::cli
