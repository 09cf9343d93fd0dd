#include "berth/server/access/audit.h"

#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "berth/api/json.h"
#include "berth/server/access/reviews.h"

namespace berth::server {
namespace {

namespace json = boost::json;

/// Whether messages about it may quote what must not be read.
bool is_confidential(const RequestInfo& info) {
  return info.resource == "secrets" || info.resource == "tokenreviews" ||
         (info.resource == "serviceaccounts" && info.subresource == "token");
}

json::object object_ref(const RequestInfo& info) {
  json::object ref;
  const auto add = [&](std::string_view member, const std::string& value) {
    if (!value.empty()) {
      ref[member] = value;
    }
  };
  add("resource", info.resource);
  add("namespace", info.ns);
  add("name", info.name);
  add("apiGroup", info.group);
  add("apiVersion", info.version);
  add("subresource", info.subresource);
  return ref;
}

json::object response_status(const Answered& answered) {
  constexpr int kFirstFailure = 400;
  json::object status{{"metadata", json::object()}};
  if (answered.code >= kFirstFailure) {
    status["status"] = "Failure";
    if (!answered.message.empty() && !is_confidential(answered.info)) {
      status["message"] = answered.message;
    }
    if (!answered.reason.empty()) {
      status["reason"] = answered.reason;
    }
  }
  status["code"] = answered.code;
  return status;
}

} // namespace

AuditLog::AuditLog(Sink sink, Rng rng) : sink_(std::move(sink)), rng_(std::move(rng)) {}

void AuditLog::write(const Answered& answered) {
  const std::string_view agent = net::header_of(answered.request.headers, "User-Agent");
  json::object event{{"kind", "Event"},
                     {"apiVersion", "audit.k8s.io/v1"},
                     {"level", "Metadata"},
                     {"auditID", rng_.uuid()},
                     {"stage", "ResponseComplete"},
                     {"requestURI", answered.request.target},
                     {"verb", answered.info.verb},
                     {"user", user_info(answered.user)}};
  if (answered.acting_as) {
    event["impersonatedUser"] = user_info(*answered.acting_as);
  }
  if (!answered.source.empty()) {
    json::array sources;
    sources.emplace_back(answered.source);
    event["sourceIPs"] = std::move(sources);
  }
  if (!agent.empty()) {
    event["userAgent"] = agent;
  }
  if (answered.info.is_resource) {
    event["objectRef"] = object_ref(answered.info);
  }
  event["responseStatus"] = response_status(answered);
  event["requestReceivedTimestamp"] = to_rfc3339_micro(answered.received);
  event["stageTimestamp"] = to_rfc3339_micro(answered.sent);
  if (answered.decision) {
    json::object& annotations = event["annotations"].emplace_object();
    annotations["authorization.k8s.io/decision"] = answered.decision->allowed ? "allow" : "forbid";
    annotations["authorization.k8s.io/reason"] = answered.decision->reason;
    for (const auto& [key, value] : answered.annotations) {
      annotations[key] = value;
    }
  }
  sink_(api::to_json(event) + "\n");
}

} // namespace berth::server
