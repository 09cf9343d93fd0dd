// The audit log: who asked what, when, and how it was answered, one line of JSON a request
// (audit.k8s.io/v1 Event at level Metadata). Bodies are never written, neither of requests nor of
// answers; nor are messages about secrets and tokens, which may quote them.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "berth/base/rng.h"
#include "berth/base/time.h"
#include "berth/net/http.h"
#include "berth/server/access/decision.h"
#include "berth/server/request_info.h"
#include "berth/server/user.h"

namespace berth::server {

/// One request that was answered.
struct Answered {
  const net::HttpRequest& request;
  const RequestInfo& info;
  std::string source;               ///< the client's address; "" if unknown
  User user;                        ///< who sent it
  std::optional<User> acting_as;    ///< whom it was sent as, if somebody else
  std::optional<Decision> decision; ///< none: it was refused before
  int code = 200;
  std::string reason;                                  ///< of a failure: its StatusReason
  std::string message;                                 ///< of a failure
  std::map<std::string, std::string> annotations = {}; ///< of admission
  TimePoint received;
  TimePoint sent;
};

class AuditLog {
 public:
  /// The sink gets whole lines, ended. `rng`: of the ids.
  using Sink = std::function<void(std::string_view line)>;
  AuditLog(Sink sink, Rng rng);

  void write(const Answered& answered);

 private:
  Sink sink_;
  Rng rng_;
};

} // namespace berth::server
