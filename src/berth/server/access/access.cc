#include "berth/server/access/access.h"

#include <utility>

#include "berth/server/access/impersonation.h"
#include "berth/server/access/node_tokens.h"
#include "berth/server/access/reviews.h"

namespace berth::server {
namespace {

constexpr std::string_view kAuthentication = "authentication.k8s.io";
constexpr std::string_view kAuthorization = "authorization.k8s.io";

bool is_token_request(const RequestInfo& info) {
  return info.group.empty() && info.resource == "serviceaccounts" && info.subresource == "token";
}

} // namespace

Access::Access(store::Registry& registry, TokenKey key, AccessOptions options, Rng rng)
    : registry_(&registry),
      accounts_(registry, std::move(key), std::move(options.accounts), std::move(rng)),
      authenticator_(std::move(options.tokens), accounts_, options.anonymous) {}

Result<std::unique_ptr<Access>> Access::open(store::Registry& registry, TokenKey key,
                                             AccessOptions options, Rng rng) {
  std::unique_ptr<Access> made(
      new Access(registry, std::move(key), std::move(options), std::move(rng)));
  BERTH_TRY(made->rbac_, Rbac::open(registry));
  return made;
}

Access::Passage Access::admit(const net::HttpRequest& request, const RequestInfo& info,
                              const net::HttpHeaders& query, TimePoint now) const {
  Passage passage;
  auto user = authenticator_.authenticate(request, now);
  if (!user) {
    passage.refusal = std::move(user).error();
    return passage;
  }
  passage.user = *std::move(user);
  const Judge judge = [&](const RequestInfo& what) { return rbac_->authorize(passage.user, what); };
  auto other = impersonated(request, passage.user, judge);
  if (!other) {
    passage.refusal = std::move(other).error();
    return passage;
  }
  passage.acting_as = *std::move(other);
  const RequestInfo what = named_by_selector(info, query);
  passage.decision = rbac_->authorize(passage.effective(), what);
  if (!passage.decision->allowed) {
    passage.refusal = forbidden(passage.effective(), what, passage.decision->reason);
  }
  return passage;
}

bool Access::answers(const RequestInfo& info) {
  if (!info.is_resource || info.verb != "create") {
    return false;
  }
  if (is_token_request(info)) {
    return true;
  }
  const bool review = info.resource.ends_with("reviews") && info.subresource.empty();
  return review && (info.group == kAuthentication || info.group == kAuthorization);
}

Answer<boost::json::object> Access::answer(const RequestInfo& info, const User& user,
                                           const boost::json::value& body, TimePoint now) {
  if (is_token_request(info)) {
    const api::Key account{info.ns, info.name};
    const auto allowed =
        check_node_token(*registry_, user, account, body,
                         [&](const RequestInfo& what) { return rbac_->authorize(user, what); });
    return allowed ? accounts_.request(account, body, now) : tl::unexpected(allowed.error());
  }
  if (info.group == kAuthentication) {
    if (info.resource == "tokenreviews") {
      return review_token(authenticator_, body, now);
    }
    if (info.resource == "selfsubjectreviews") {
      return review_self(user, now);
    }
  }
  if (info.group == kAuthorization) {
    if (info.resource == "subjectaccessreviews") {
      return review_access(*rbac_, body);
    }
    if (info.resource == "localsubjectaccessreviews") {
      return review_local_access(*rbac_, info.ns, body);
    }
    if (info.resource == "selfsubjectaccessreviews") {
      return review_own_access(*rbac_, user, body);
    }
    if (info.resource == "selfsubjectrulesreviews") {
      return review_own_rules(*rbac_, user, body);
    }
  }
  return tl::unexpected(unknown_resource());
}

} // namespace berth::server
