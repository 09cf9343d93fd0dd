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

/// How a pod is reached from its machine.
struct PodReach {
  std::string ip;
  /// Path of the network namespace to connect from; "": the machine's own.
  std::string network_namespace;
};

struct HttpCheck {
  enum class Scheme { Http, Https } scheme = Scheme::Http;
  std::string host; ///< where to connect; "": the pod
  std::uint16_t port = 0;
  std::string path; ///< with its query, begins with "/"
  std::vector<std::pair<std::string, std::string>> headers;
  std::string network_namespace; ///< to connect from

  /// As messages name it: "http://10.1.0.7:8080/healthz".
  std::string url() const;
};

struct TcpCheck {
  std::string host; ///< "": the pod
  std::uint16_t port = 0;
  std::string network_namespace;
};

/// grpc.health.v1.Health/Check.
struct GrpcCheck {
  std::string host; ///< "": the pod; a document never names one
  std::uint16_t port = 0;
  std::string service; ///< "": the server as a whole
  std::string network_namespace;

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
/// Leads the check to the pod where it names no host; one that it names is the machine's to reach.
Check with_host(Check check, const PodReach& pod);

} // namespace berth::node
