#include "berth/server/access/authentication.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "berth/server/access/decision.h"

namespace berth::server {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && blank(text.front())) {
    text.remove_prefix(1);
  }
  while (!text.empty() && blank(text.back())) {
    text.remove_suffix(1);
  }
  return text;
}

bool equal_without_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

/// The token of "Bearer TOKEN"; "" if the header says anything else, as nothing at all.
std::string_view bearer_token(const net::HttpRequest& request) {
  std::string_view header = trimmed(net::header_of(request.headers, "Authorization"));
  const std::size_t blank = header.find(' ');
  if (blank == std::string_view::npos || !equal_without_case(header.substr(0, blank), "Bearer")) {
    return "";
  }
  header.remove_prefix(blank + 1);
  return header.substr(0, header.find(' '));
}

User authenticated(User user) {
  if (user.name != kAnonymous && !in_group(user, kAuthenticated) &&
      !in_group(user, kUnauthenticated)) {
    user.groups.emplace_back(kAuthenticated);
  }
  return user;
}

} // namespace

Status unauthorized() {
  return {.code = 401, .reason = "Unauthorized", .message = "Unauthorized", .details = nullptr};
}

Authenticator::Authenticator(StaticTokens tokens, const ServiceAccountTokens& accounts,
                             Anonymous anonymous)
    : tokens_(std::move(tokens)), accounts_(&accounts), anonymous_(anonymous) {}

Answer<User> Authenticator::authenticate(const net::HttpRequest& request, TimePoint now) const {
  if (request.peer && !request.peer->common_name.empty()) {
    return authenticated({.name = request.peer->common_name,
                          .uid = {},
                          .groups = request.peer->organizations,
                          .extra = {}});
  }
  if (const std::string_view token = bearer_token(request); !token.empty()) {
    auto bearer = review(token, {}, now);
    if (!bearer) {
      return tl::unexpected(unauthorized());
    }
    return std::move(bearer->user);
  }
  if (anonymous_ == Anonymous::Refused) {
    return tl::unexpected(unauthorized());
  }
  return User{.name = kAnonymous, .uid = {}, .groups = {kUnauthenticated}, .extra = {}};
}

std::optional<TokenBearer> Authenticator::review(std::string_view token,
                                                 const std::vector<std::string>& audiences,
                                                 TimePoint now) const {
  const std::vector<std::string>& own = accounts_->audiences();
  const std::vector<std::string>& wanted = audiences.empty() ? own : audiences;
  if (const User* user = tokens_.find(token)) {
    TokenBearer bearer{.user = authenticated(*user), .audiences = {}};
    std::ranges::copy_if(wanted, std::back_inserter(bearer.audiences), [&](const std::string& one) {
      return std::ranges::find(own, one) != own.end();
    });
    return bearer.audiences.empty() ? std::nullopt : std::optional(std::move(bearer));
  }
  auto bearer = accounts_->verify(token, wanted, now);
  if (bearer) {
    bearer->user = authenticated(std::move(bearer->user));
  }
  return bearer;
}

} // namespace berth::server
