// Something that can be asked of a running container: a command, an HTTP request, a connection.
// What probes and lifecycle hooks are made of; read from a pod's document. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "berth/api/json.h"
#include "berth/base/result.h"
#include "berth/base/time.h"

namespace berth::node {

struct ExecCheck {
  std::vector<std::string> command;
};

struct HttpCheck {
  enum class Scheme { Http, Https } scheme = Scheme::Http;
  std::string host; ///< where to connect; "": the pod
  std::uint16_t port = 0;
  std::string path; ///< with its query, begins with "/"
  std::vector<std::pair<std::string, std::string>> headers;

  /// As messages name it: "http://10.1.0.7:8080/healthz".
  std::string url() const;
};

struct TcpCheck {
  std::string host; ///< "": the pod
  std::uint16_t port = 0;
};

/// grpc.health.v1.Health/Check.
struct GrpcCheck {
  std::string host; ///< "": the pod; a document never names one
  std::uint16_t port = 0;
  std::string service; ///< "": the server as a whole

  /// "10.1.0.7:9000", "[fd00::7]:9000".
  std::string address() const;
};

struct SleepCheck {
  Duration time;
};

using Check = std::variant<ExecCheck, HttpCheck, TcpCheck, GrpcCheck, SleepCheck>;

/// `action` has exec, httpGet, tcpSocket, grpc or sleep; `container` names ports. Error Invalid: no
/// such port, or none of these.
Result<Check> read_check(const api::json::value& action, const api::json::value& container);
/// Fills in the pod's address where the check names none.
Check with_host(Check check, const std::string& pod_ip);

} // namespace berth::node
