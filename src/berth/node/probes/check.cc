#include "berth/node/probes/check.h"

#include <charconv>

#include <boost/json/array.hpp>
#include <fmt/format.h>

#include "berth/node/contents/spec_field.h"

namespace berth::node {
namespace {

namespace json = boost::json;

constexpr std::int64_t kMostPort = 65535;

Result<std::uint16_t> as_port(std::int64_t number) {
  if (number <= 0 || number > kMostPort) {
    return fail(Code::Invalid, fmt::format("invalid port number: {}", number));
  }
  return static_cast<std::uint16_t>(number);
}

// A number, the name of one of the container's ports, or a number in quotes.
Result<std::uint16_t> port_of(const json::value& action, const json::value& container) {
  if (const auto number = int_at(action, "port")) {
    return as_port(*number);
  }
  const std::string_view text = api::string_at(action, "port");
  if (const json::value* port = named_at(container, "ports", text)) {
    return as_port(int_at(*port, "containerPort").value_or(0));
  }
  std::int64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || end != text.data() + text.size()) {
    return fail(Code::Invalid, fmt::format("couldn't find port: {}", text));
  }
  return as_port(number);
}

Result<Check> read_http(const json::value& action, const json::value& container) {
  HttpCheck check{.scheme = api::string_at(action, "scheme") == "HTTPS" ? HttpCheck::Scheme::Https
                                                                        : HttpCheck::Scheme::Http,
                  .host = std::string(api::string_at(action, "host")),
                  .path = std::string(api::string_at(action, "path"))};
  BERTH_TRY(check.port, port_of(action, container));
  if (!check.path.starts_with('/')) {
    check.path.insert(0, "/");
  }
  for (const json::value& header : list_at(action, "httpHeaders")) {
    check.headers.emplace_back(api::string_at(header, "name"), api::string_at(header, "value"));
  }
  return check;
}

struct FillHost {
  const PodReach* pod;
  void operator()(HttpCheck& check) const { fill(check); }
  void operator()(TcpCheck& check) const { fill(check); }
  void operator()(ExecCheck&) const {}
  void operator()(GrpcCheck& check) const { fill(check); }
  void operator()(SleepCheck&) const {}
  template <class Asked> void fill(Asked& check) const {
    if (check.host.empty()) {
      check.host = pod->ip;
      check.network_namespace = pod->network_namespace;
    }
  }
};

} // namespace

std::string HttpCheck::url() const {
  const bool six = host.find(':') != std::string::npos;
  return fmt::format("{}://{}{}{}:{}{}", scheme == Scheme::Https ? "https" : "http", six ? "[" : "",
                     host, six ? "]" : "", port, path);
}

std::string GrpcCheck::address() const {
  return host.find(':') != std::string::npos ? fmt::format("[{}]:{}", host, port)
                                             : fmt::format("{}:{}", host, port);
}

Result<Check> read_check(const json::value& action, const json::value& container) {
  if (const json::value* exec = api::find(action, "exec")) {
    return ExecCheck{strings_at(*exec, "command")};
  }
  if (const json::value* http = api::find(action, "httpGet")) {
    return read_http(*http, container);
  }
  if (const json::value* tcp = api::find(action, "tcpSocket")) {
    TcpCheck check{.host = std::string(api::string_at(*tcp, "host"))};
    BERTH_TRY(check.port, port_of(*tcp, container));
    return check;
  }
  if (const json::value* grpc = api::find(action, "grpc")) {
    GrpcCheck check{.service = std::string(api::string_at(*grpc, "service"))};
    BERTH_TRY(check.port, port_of(*grpc, container));
    return check;
  }
  if (const json::value* sleep = api::find(action, "sleep")) {
    return SleepCheck{Duration::seconds(int_at(*sleep, "seconds").value_or(0))};
  }
  return fail(Code::Invalid, "nothing to do; try exec, httpGet, tcpSocket, grpc or sleep");
}

Check with_host(Check check, const PodReach& pod) {
  std::visit(FillHost{&pod}, check);
  return check;
}

} // namespace berth::node
