#include "berth/server/api_server.h"

#include <utility>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/schema/catalogue.h"
#include "berth/server/call.h"
#include "berth/server/compress.h"
#include "berth/server/discovery.h"
#include "berth/server/pod_actions.h"
#include "berth/server/reading.h"
#include "berth/server/scale.h"
#include "berth/server/writing.h"

namespace berth::server {
namespace {

net::HttpResponse not_a_page() {
  return net::text_response(404, "404 page not found");
}

/// HEAD is answered as GET: the HTTP server leaves the body out.
std::string_view method_of(const net::HttpRequest& request) {
  return request.method == "HEAD" ? "GET" : request.method;
}

Answer<net::HttpResponse> by_verb(const Shared& shared, Call& call,
                                  const schema::Resource& resource) {
  const std::string& verb = call.info.verb;
  if (verb == "get") {
    return flag(call.query, "watch") ? watch_objects(shared, call, resource)
                                     : get_object(shared, call, resource);
  }
  if (verb == "list") {
    return list_objects(shared, call, resource);
  }
  if (verb == "watch") {
    return watch_objects(shared, call, resource);
  }
  if (verb == "create") {
    return create_object(shared, call, resource);
  }
  if (verb == "update") {
    return update_object(shared, call, resource);
  }
  if (verb == "patch") {
    return patch_object(shared, call, resource);
  }
  if (verb == "delete") {
    return delete_object(shared, call, resource);
  }
  if (verb == "deletecollection") {
    return delete_objects(shared, call, resource);
  }
  return tl::unexpected(method_not_allowed());
}

bool contains(const std::vector<std::string>& all, std::string_view one) {
  return std::ranges::find(all, one) != all.end();
}

} // namespace

struct ApiServer::State {
  State(Loop& loop, store::Registry& registry, ApiServerOptions given)
      : options(std::move(given)),
        resources(schema::Catalogue::builtin()), shared{.loop = &loop,
                                                        .registry = &registry,
                                                        .resources = &resources,
                                                        .pages = &pages} {}

  Answer<net::HttpResponse> answer_to(Call& call) {
    if (!call.info.is_resource) {
      return page(call);
    }
    const schema::Resource* resource =
        resources.find(call.info.group, call.info.version, call.info.resource);
    if (resource == nullptr) {
      if (!resources.has_version(call.info.group, call.info.version)) {
        return not_a_page();
      }
      return tl::unexpected(unknown_resource());
    }
    auto wanted = wanted_form(net::header_of(call.request->headers, "Accept"));
    if (!wanted) {
      return tl::unexpected(std::move(wanted).error());
    }
    call.wanted = *wanted;
    if (resource->plural == "namespaces" && resource->group.empty()) {
      call.info.ns.clear();
    }
    return call.info.subresource.empty() ? whole(call, *resource) : part(call, *resource);
  }

  Answer<net::HttpResponse> whole(Call& call, const schema::Resource& resource) {
    if (call.info.verb == "create" && !call.info.name.empty()) {
      return tl::unexpected(method_not_allowed());
    }
    if (resource.group.empty() && resource.plural == "bindings" && call.info.verb == "create") {
      return bind_pod(shared, call);
    }
    if (!resource.can(call.info.verb)) {
      return tl::unexpected(method_not_allowed());
    }
    return by_verb(shared, call, resource);
  }

  Answer<net::HttpResponse> part(Call& call, const schema::Resource& resource) {
    const schema::Subresource* sub = resource.subresource(call.info.subresource);
    if (sub == nullptr) {
      return tl::unexpected(unknown_resource());
    }
    if (!contains(sub->verbs, call.info.verb)) {
      return tl::unexpected(method_not_allowed());
    }
    if (sub->name == "scale") {
      return answer_scale(shared, call, resource);
    }
    if (resource.group.empty() && resource.plural == "pods" && sub->name == "binding") {
      return bind_pod(shared, call);
    }
    if (resource.group.empty() && resource.plural == "pods" && sub->name == "eviction") {
      return evict_pod(shared, call);
    }
    if (sub->name == "status" || sub->name == "finalize") {
      return by_verb(shared, call, resource);
    }
    return tl::unexpected(Status{
        .code = 501,
        .reason = "NotImplemented",
        .message = fmt::format("{}/{} is not served here: no container runtime is attached to this "
                               "API server",
                               resource.plural, sub->name),
        .details = nullptr});
  }

  /// What is no resource: discovery, health, version.
  Answer<net::HttpResponse> page(const Call& call) {
    const std::string_view path = call.info.path;
    if (method_of(*call.request) != "GET") {
      return not_a_page();
    }
    if (path == "/livez" || path == "/readyz" || path == "/healthz") {
      net::HttpResponse ok = net::text_response(200, "ok");
      ok.body.pop_back(); // as kube-apiserver says it
      return ok;
    }
    if (path == "/version") {
      return document(version_document(schema::Catalogue::builtin().version()));
    }
    return discovery(call, path);
  }

  Answer<net::HttpResponse> discovery(const Call& call, std::string_view path) {
    const bool together =
        wants_aggregated_discovery(net::header_of(call.request->headers, "Accept"));
    if (path == "/api" || path == "/api/") {
      return together ? aggregated_answer(DiscoveryPart::Core)
                      : document(core_versions(options.address));
    }
    if (path == "/apis" || path == "/apis/") {
      return together ? aggregated_answer(DiscoveryPart::Groups) : document(group_list(resources));
    }
    boost::json::object found;
    if (!call.info.version.empty()) {
      found = resource_list(resources, call.info.group, call.info.version);
    } else if (path.starts_with("/apis/")) {
      std::string_view group = path.substr(std::string_view("/apis/").size());
      group = group.substr(0, group.find('/'));
      found = group_document(resources, group);
    }
    return found.empty() ? not_a_page() : document(std::move(found));
  }

  Answer<net::HttpResponse> aggregated_answer(DiscoveryPart part) {
    net::HttpResponse response = document(aggregated(resources, part));
    response.headers.front().second =
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    return response;
  }

  static net::HttpResponse document(boost::json::object whole) {
    return net::json_response(200, api::to_json(whole) + "\n");
  }

  ApiServerOptions options;
  Resources resources;
  ListPages pages;
  Shared shared;
};

ApiServer::ApiServer(Loop& loop, store::Registry& registry, ApiServerOptions options)
    : state_(std::make_unique<State>(loop, registry, std::move(options))) {}
ApiServer::~ApiServer() = default;

void ApiServer::handle(const net::HttpRequest& request, const net::HttpRespond& respond) {
  Call call{.request = &request, .query = request.parameters()};
  call.info = request_info(request, call.query);
  auto answered = state_->answer_to(call);
  net::HttpResponse response =
      answered ? *std::move(answered) : to_response(std::move(answered).error());
  compress(request, response);
  respond(std::move(response));
}

} // namespace berth::server
