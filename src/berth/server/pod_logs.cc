#include "berth/server/pod_logs.h"

#include <utility>

#include "berth/api/json.h"
#include "berth/server/log_answer.h"
#include "berth/server/log_options.h"
#include "berth/server/pod_containers.h"

namespace berth::server {

Answer<net::HttpResponse> pod_log(const Shared& shared, Call& call) {
  const auto options = log_options(call.info.name, call.query, shared.loop->now());
  if (!options) {
    return tl::unexpected(options.error());
  }
  const auto pod = shared.registry->get(store::kPods, {call.info.ns, call.info.name});
  if (!pod) {
    return tl::unexpected(status_of(pod.error()));
  }
  const auto container = container_of(*pod, options->container);
  if (!container) {
    return tl::unexpected(container.error());
  }
  const std::string node(api::string_at(pod->json(), "spec.nodeName"));
  if (node.empty()) {
    return net::HttpResponse{.status = 204};
  }
  const auto id =
      logged_container(*pod, *container, options->previous ? LogOf::Previous : LogOf::Latest);
  if (!id) {
    return tl::unexpected(id.error());
  }
  LogRequest what{.ns = call.info.ns,
                  .pod = call.info.name,
                  .pod_uid = pod->meta().uid,
                  .container = *container,
                  .container_id = *id,
                  .options = *options,
                  .unreachable = unreachable(*pod, *container)};
  call.later = [nodes = shared.nodes, node, what = std::move(what)](net::HttpRespond respond) {
    answer_with_log(
        [&](std::function<void()> on_more,
            std::function<void(Answer<std::unique_ptr<LogReading>>)> done) {
          nodes->open_log(node, what, std::move(on_more), std::move(done));
        },
        std::move(respond));
  };
  return net::HttpResponse();
}

} // namespace berth::server
