#include "berth/server/streams/stream_options.h"

#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "berth/server/request_info.h"
#include "berth/store/errors.h"

namespace berth::server {
namespace {

using Kind = StreamRequest::Kind;

std::string percent_encoded(std::string_view text) {
  std::string out;
  for (const unsigned char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == '_' || c == '~';
    out += plain ? std::string(1, static_cast<char>(c)) : fmt::format("%{:02X}", c);
  }
  return out;
}

enum class Otherwise { No, Yes };

bool wanted(const net::HttpHeaders& query, std::string_view name,
            Otherwise otherwise = Otherwise::No) {
  return parameter(query, name).empty() ? otherwise == Otherwise::Yes : flag(query, name);
}

Answer<std::vector<std::int32_t>> ports_in(const net::HttpHeaders& query) {
  constexpr int kHighest = 65535;
  std::vector<std::int32_t> ports;
  for (const auto& [name, value] : query) {
    if (name != "port" && name != "ports") {
      continue;
    }
    std::string_view rest = value;
    while (true) { // the API's own clients put several behind commas
      const std::size_t comma = rest.find(',');
      const std::string_view one = rest.substr(0, comma);
      std::int32_t port = 0;
      const auto [end, error] = std::from_chars(one.data(), one.data() + one.size(), port);
      if (error != std::errc() || end != one.data() + one.size() || port > kHighest) {
        return bad_request(fmt::format("unable to parse {} as a port", store::quote(one)));
      }
      if (port < 1) {
        return bad_request(fmt::format("port {} must be > 0", store::quote(one)));
      }
      ports.push_back(port);
      if (comma == std::string_view::npos) {
        break;
      }
      rest.remove_prefix(comma + 1);
    }
  }
  return ports;
}

} // namespace

Answer<StreamRequest> stream_options(Kind kind, const net::HttpRequest& request,
                                     StreamNames names) {
  const net::HttpHeaders query = request.parameters();
  StreamRequest what{.kind = kind,
                     .ns = {},
                     .pod = {},
                     .pod_uid = {},
                     .container = std::string(parameter(query, "container")),
                     .command = {},
                     .ports = {}};
  if (kind == Kind::PortForward) {
    what.container.clear();
    auto ports = ports_in(query);
    if (!ports) {
      return tl::unexpected(std::move(ports).error());
    }
    what.ports = *std::move(ports);
    return what;
  }
  const bool api = names == StreamNames::Api;
  const Otherwise outputs = api ? Otherwise::Yes : Otherwise::No;
  what.in = wanted(query, api ? "stdin" : "input");
  what.out = wanted(query, api ? "stdout" : "output", outputs);
  what.err = wanted(query, api ? "stderr" : "error", outputs);
  what.tty = wanted(query, "tty");
  what.err = what.err && !what.tty; // a terminal has one output
  if (!what.in && !what.out && !what.err) {
    return bad_request("you must specify at least 1 of stdin, stdout, stderr");
  }
  for (const auto& [name, value] : query) {
    if (name == "command") {
      what.command.push_back(value);
    }
  }
  if (kind == Kind::Exec && what.command.empty()) {
    return bad_request("you must specify at least one command for the container");
  }
  return what;
}

std::string kubelet_target(const StreamRequest& what) {
  const std::string pod = fmt::format("{}/{}", percent_encoded(what.ns), percent_encoded(what.pod));
  std::string query;
  const auto add = [&](std::string_view name, std::string_view value) {
    query += fmt::format("{}{}={}", query.empty() ? "?" : "&", name, percent_encoded(value));
  };
  for (const std::int32_t port : what.ports) {
    add("port", fmt::to_string(port));
  }
  if (what.kind == Kind::PortForward) {
    return fmt::format("/portForward/{}{}", pod, query);
  }
  for (const std::string& word : what.command) {
    add("command", word);
  }
  for (const auto& [name, asked] : {std::pair("input", what.in), std::pair("output", what.out),
                                    std::pair("error", what.err), std::pair("tty", what.tty)}) {
    if (asked) {
      add(name, "1");
    }
  }
  return fmt::format("/{}/{}/{}{}", what.kind == Kind::Exec ? "exec" : "attach", pod,
                     percent_encoded(what.container), query);
}

std::string_view name_of(Kind kind) {
  return kind == Kind::Exec ? "exec" : kind == Kind::Attach ? "attach" : "port-forward";
}

} // namespace berth::server
