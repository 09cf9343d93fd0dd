// What expressions ask about rights: authorizer.group('apps').resource('deployments').check('get').
// Each word of such a chain is a value that knows what has been said so far. Source:
// k8s.io/apiserver/pkg/cel/library/authz.go.
#pragma once

#include <memory>
#include <string>

namespace berth::cel {

struct AccessQuestion {
  std::string account_ns; ///< of the service account it is about; both "": of the one who asks
  std::string account;
  std::string verb;
  std::string path; ///< of no resource; else ""
  std::string group;
  std::string resource;
  std::string subresource;
  std::string ns;
  std::string name;
};

/// A Decision.
struct AccessAnswer {
  bool allowed = false;
  std::string reason;
};

/// Who may do what. Outlives what is evaluated with it.
class Rights {
 public:
  virtual ~Rights() = default;
  virtual AccessAnswer ask(const AccessQuestion& question) const = 0;
};

/// A question under way.
struct Asking {
  std::shared_ptr<const Rights> rights;
  AccessQuestion question;
};
struct Authorizer : Asking {};
struct PathCheck : Asking {};
struct GroupCheck : Asking {};
struct ResourceCheck : Asking {};

inline constexpr const char* kAuthorizerType = "kubernetes.authorization.Authorizer";
inline constexpr const char* kResourceCheckType = "kubernetes.authorization.ResourceCheck";

} // namespace berth::cel
