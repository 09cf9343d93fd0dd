#include "berth/cli/up/issued_tokens.h"

#include <utility>

#include "berth/api/json.h"
#include "berth/client/wire.h"

namespace berth::cli {
namespace {

Result<client::Token> issue(server::ApiServer* server, const client::TokenRequest& request) {
  if (server == nullptr) {
    return fail(Code::Unavailable, "the API server has not begun; this is tried again");
  }
  BERTH_TRY(const api::json::value body, api::parse_json(client::token_body(request)));
  const auto issued = server->issue_token(request.service_account, body);
  return issued ? client::token_of(*issued)
                : tl::unexpected(client::error_of(server::to_response(issued.error())));
}

} // namespace

IssuedTokens::IssuedTokens(Loop& loop, std::function<server::ApiServer*()> server)
    : loop_(&loop), server_(std::move(server)) {}

void IssuedTokens::request_token(const client::TokenRequest& request,
                                 std::function<void(Result<client::Token>)> done) {
  loop_->post(
      [server = server_, request, done = std::move(done)] { done(issue(server(), request)); });
}

} // namespace berth::cli
