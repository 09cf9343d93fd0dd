#include "berth/server/pod_connections.h"

#include <utility>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/server/judged_write.h"
#include "berth/server/pod_containers.h"
#include "berth/server/streams/connect.h"
#include "berth/server/streams/stream_options.h"

namespace berth::server {
namespace {

namespace json = api::json;
using Kind = StreamRequest::Kind;

Kind kind_of(std::string_view subresource) {
  return subresource == "exec"     ? Kind::Exec
         : subresource == "attach" ? Kind::Attach
                                   : Kind::PortForward;
}

/// Where it goes and what is asked there, or why not.
struct Way {
  std::string node;
  StreamRequest what;
};

/// The options of a connection as an object: what its query says.
json::object connection_options(const api::GroupVersionKind& kind, const net::HttpHeaders& query) {
  json::object out{{"kind", kind.kind}, {"apiVersion", kind.api_version()}};
  for (const char* name : {"stdin", "stdout", "stderr", "tty"}) {
    if (flag(query, name)) {
      out[name] = true;
    }
  }
  if (const auto container = parameter(query, "container"); !container.empty()) {
    out["container"] = container;
  }
  for (const auto& [name, value] : query) {
    if (name == "command") {
      json::value& command = out["command"];
      (command.is_array() ? command.get_array() : command.emplace_array()).emplace_back(value);
    }
  }
  return out;
}

/// Whether policies let it pass: its object are its options.
Answer<void> judge(const Shared& shared, Call& call) {
  const std::string& what = call.info.subresource;
  const api::GroupVersionKind kind{"", "v1",
                                   what == "exec"     ? "PodExecOptions"
                                   : what == "attach" ? "PodAttachOptions"
                                                      : "PodPortForwardOptions"};
  const json::value object = connection_options(kind, call.query);
  return judge_errand(shared, call, {.operation = "CONNECT", .kind = kind, .object = &object});
}

Answer<Way> way_of(const Shared& shared, const Call& call) {
  const auto pod = shared.registry->get(store::kPods, {call.info.ns, call.info.name});
  if (!pod) {
    return tl::unexpected(status_of(pod.error()));
  }
  const Kind kind = kind_of(call.info.subresource);
  std::string container;
  if (kind != Kind::PortForward) {
    auto meant = container_of(*pod, std::string(parameter(call.query, "container")));
    if (!meant) {
      return tl::unexpected(std::move(meant).error());
    }
    container = *std::move(meant);
  }
  Way way{.node = std::string(api::string_at(pod->json(), "spec.nodeName")), .what = {}};
  if (way.node.empty()) {
    return bad_request(fmt::format("pod {} does not have a host assigned", pod->meta().name));
  }
  auto what = stream_options(kind, *call.request, StreamNames::Api);
  if (!what) {
    return tl::unexpected(std::move(what).error());
  }
  way.what = *std::move(what);
  way.what.ns = call.info.ns;
  way.what.pod = call.info.name;
  way.what.pod_uid = pod->meta().uid;
  way.what.container = std::move(container);
  way.what.unreachable = unreachable_streams(*pod);
  return way;
}

} // namespace

Answer<net::HttpResponse> pod_connection(const Shared& shared, Call& call) {
  if (auto judged = judge(shared, call); !judged) {
    return tl::unexpected(std::move(judged).error());
  }
  auto way = way_of(shared, call);
  if (!way) {
    return tl::unexpected(std::move(way).error());
  }
  call.later = [nodes = shared.nodes, live = shared.connections, way = *std::move(way),
                request = *call.request](net::HttpRespond respond) {
    nodes->find_streams(
        way.node, way.what,
        [live, what = way.what, request, respond](const Answer<StreamPlace>& place) {
          const Answer<void> spoken = check_upgrade(request);
          if (!place) {
            respond(to_response(place.error()));
          } else if (!spoken) {
            respond(to_response(spoken.error()));
          } else {
            connect_streams(request, what, *place, *live, respond);
          }
        });
  };
  return net::HttpResponse();
}

} // namespace berth::server
