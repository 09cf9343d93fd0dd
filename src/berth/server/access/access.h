// Who may do what, as one: the user of a request, whom it acts as, and whether it may. Source: the
// order of kube-apiserver's handler chain.
#pragma once

#include <memory>
#include <optional>

#include <boost/json/object.hpp>

#include "berth/server/access/authentication.h"
#include "berth/server/access/rbac.h"

namespace berth::server {

struct AccessOptions {
  StaticTokens tokens = {};
  Anonymous anonymous = Anonymous::Allowed;
  TokenOptions accounts = {};
};

class Access {
 public:
  /// The registry must outlive it. Error: the store's, if it cannot be watched.
  static Result<std::unique_ptr<Access>> open(store::Registry& registry, TokenKey key,
                                              AccessOptions options, Rng rng);
  Access(const Access&) = delete;
  Access& operator=(const Access&) = delete;

  /// How a request fares.
  struct Passage {
    User user;                     ///< who sent it; of a 401 empty
    std::optional<User> acting_as; ///< whom it impersonates
    std::optional<Decision> decision;
    std::optional<Status> refusal; ///< if set, this is the answer

    /// Whose rights count.
    const User& effective() const { return acting_as ? *acting_as : user; }
  };
  Passage admit(const net::HttpRequest& request, const RequestInfo& info,
                const net::HttpHeaders& query, TimePoint now) const;

  /// Whether this request is a question to answer() rather than a write: the create of a review or
  /// of a service account's token.
  static bool answers(const RequestInfo& info);
  /// Precondition: answers(info). `body` as decoded by its type.
  Answer<boost::json::object> answer(const RequestInfo& info, const User& user,
                                     const boost::json::value& body, TimePoint now);

  /// The TokenRequest with its status, for a part of this process: it needs no right.
  Answer<boost::json::object> issue(const api::Key& account, const boost::json::value& body,
                                    TimePoint now) {
    return accounts_.request(account, body, now);
  }

  const Rbac& rbac() const { return *rbac_; }

 private:
  Access(store::Registry& registry, TokenKey key, AccessOptions options, Rng rng);

  const store::Registry* registry_;
  ServiceAccountTokens accounts_;
  Authenticator authenticator_;
  std::unique_ptr<Rbac> rbac_;
};

} // namespace berth::server
