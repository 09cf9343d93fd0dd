#include "berth/server/pod_connections.h"

#include <utility>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/server/pod_containers.h"
#include "berth/server/streams/connect.h"
#include "berth/server/streams/stream_options.h"

namespace berth::server {
namespace {

using Kind = StreamRequest::Kind;

Kind kind_of(std::string_view subresource) {
  return subresource == "exec"     ? Kind::Exec
         : subresource == "attach" ? Kind::Attach
                                   : Kind::PortForward;
}

/// Where it goes and what is asked there, or why not.
struct Errand {
  std::string node;
  StreamRequest what;
};

Answer<Errand> errand_of(const Shared& shared, const Call& call) {
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
  Errand errand{.node = std::string(api::string_at(pod->json(), "spec.nodeName")), .what = {}};
  if (errand.node.empty()) {
    return bad_request(fmt::format("pod {} does not have a host assigned", pod->meta().name));
  }
  auto what = stream_options(kind, *call.request, StreamNames::Api);
  if (!what) {
    return tl::unexpected(std::move(what).error());
  }
  errand.what = *std::move(what);
  errand.what.ns = call.info.ns;
  errand.what.pod = call.info.name;
  errand.what.pod_uid = pod->meta().uid;
  errand.what.container = std::move(container);
  errand.what.unreachable = unreachable_streams(*pod);
  return errand;
}

} // namespace

Answer<net::HttpResponse> pod_connection(const Shared& shared, Call& call) {
  auto errand = errand_of(shared, call);
  if (!errand) {
    return tl::unexpected(std::move(errand).error());
  }
  call.later = [nodes = shared.nodes, live = shared.connections, errand = *std::move(errand),
                request = *call.request](net::HttpRespond respond) {
    nodes->find_streams(
        errand.node, errand.what,
        [live, what = errand.what, request, respond](const Answer<StreamPlace>& place) {
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
