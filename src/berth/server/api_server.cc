#include "berth/server/api_server.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/base/log.h"
#include "berth/patch/owners.h"
#include "berth/schema/catalogue.h"
#include "berth/server/access/bootstrap_policy.h"
#include "berth/server/access/cluster_role_aggregation.h"
#include "berth/server/access/flow_control.h"
#include "berth/server/binding.h"
#include "berth/server/body.h"
#include "berth/server/call.h"
#include "berth/server/certificate_signer.h"
#include "berth/server/compress.h"
#include "berth/server/definitions.h"
#include "berth/server/discovery.h"
#include "berth/server/eviction.h"
#include "berth/server/gpu_page.h"
#include "berth/server/judged_write.h"
#include "berth/server/live_resources.h"
#include "berth/server/live_streams.h"
#include "berth/server/openapi_pages.h"
#include "berth/server/pod_connections.h"
#include "berth/server/pod_logs.h"
#include "berth/server/policies/policies.h"
#include "berth/server/reading.h"
#include "berth/server/request_metrics.h"
#include "berth/server/scale.h"
#include "berth/server/write_target.h"
#include "berth/server/writing.h"

namespace berth::server {
namespace {

constexpr std::uint64_t kAuditSeed = 1;

net::HttpResponse not_a_page() {
  return net::text_response(404, "404 page not found");
}

/// HEAD is answered as GET: the HTTP server leaves the body out.
std::string method_of(const net::HttpRequest& request) {
  return request.method == "HEAD" ? "GET" : request.method;
}

Answer<net::HttpResponse> by_verb(const Shared& shared, Call& call,
                                  const schema::Resource& resource) {
  const std::string& verb = call.info.verb;
  if (verb == "get") {
    return get_object(shared, call, resource);
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

/// One request from its arrival to its answer.
struct Turn {
  net::HttpRequest request;
  net::HttpRespond respond;
  TimePoint received;
  Call call;
  Access::Passage passage;
  FlowControl::Id id = 0;
  RequestLabels labels;
};

/// Subresources that are read and written as the object that they belong to.
bool is_part_of_object(std::string_view subresource) {
  return subresource == "status" || subresource == "finalize" || subresource == "approval" ||
         subresource == "ephemeralcontainers" || subresource == "resize";
}

bool contains(const std::vector<std::string>& all, std::string_view one) {
  return std::ranges::find(all, one) != all.end();
}

} // namespace

struct ApiServer::State : std::enable_shared_from_this<ApiServer::State> {
  State(Loop& loop, store::Registry& registry, ApiServerOptions given,
        std::unique_ptr<Access> opened)
      : options(std::move(given)), resources(schema::Catalogue::builtin()),
        access(std::move(opened)), shared{.loop = &loop,
                                          .registry = &registry,
                                          .resources = &resources,
                                          .pages = &pages,
                                          .rbac = &access->rbac(),
                                          .policies = nullptr,
                                          .gpu_columns = options.gpu_columns,
                                          .nodes = options.nodes,
                                          .connections = &connections},
        definitions(loop, registry, resources), flow(flow_limits()),
        audit(
            options.audit ? options.audit : [](std::string_view) {}, Rng(kAuditSeed)) {
    if (options.nodes != nullptr) {
      resources.define("", live_resources());
    }
    checks = own_checks();
    std::ranges::copy(options.checks, std::back_inserter(checks));
  }

  std::vector<HealthCheck> own_checks() {
    return {
        {.name = "ping", .holds = [] { return Result<void>(); }},
        {.name = "etcd", .holds = [this] { return durable; }},
        {.name = "shutdown", .of = HealthCheck::Of::Readiness, .holds = [this]() -> Result<void> {
           return draining ? fail(Code::Unavailable, "process is shutting down") : Result<void>();
         }}};
  }

  /// Reads are decided one at a time: between two of them the sockets are looked at, and what is
  /// more urgent goes first.
  static FlowControl::Options flow_limits() {
    FlowControl::Options limits;
    limits.reading = {.seats = 1, .waiting = 10'000, .waiting_of_flow = 5'000};
    return limits;
  }

  // ---- the way of a request: who asks, its turn, the answer
  void take(const net::HttpRequest& request, const net::HttpRespond& respond) {
    auto turn = std::make_shared<Turn>();
    turn->request = request;
    turn->respond = respond;
    turn->received = shared.loop->now();
    turn->call.request = &turn->request;
    turn->call.query = request.parameters();
    turn->call.info = request_info(request, turn->call.query);
    turn->labels = request_labels(
        request, turn->call.info, turn->call.query,
        resources.find(turn->call.info.group, turn->call.info.version, turn->call.info.resource));
    metrics.began(turn->labels);
    turn->passage = access->admit(request, turn->call.info, turn->call.query, turn->received);
    if (turn->passage.refusal) {
      send(*turn, to_response(*turn->passage.refusal));
      return;
    }
    turn->call.user = turn->passage.effective();
    const FlowControl::Ticket ticket = flow.offer(
        {.level = level_of(turn->passage.user, turn->call.info), .flow = turn->passage.user.name},
        turn->received);
    turn->id = ticket.id;
    if (ticket.verdict == FlowControl::Verdict::Refuse) {
      send(*turn, to_response(too_many_requests()));
    } else if (ticket.verdict == FlowControl::Verdict::Wait) {
      waiting.emplace(ticket.id, std::move(turn));
      await_expiry();
    } else {
      run(turn);
    }
  }

  void run(const std::shared_ptr<Turn>& turn) {
    Call& call = turn->call;
    auto answered = answer_to(call);
    shared.loop->post([weak = weak_from_this(), id = turn->id] {
      if (const auto self = weak.lock()) {
        self->finished(id);
      }
    });
    if (answered && call.later) {
      call.later([weak = weak_from_this(), turn](net::HttpResponse response) {
        if (const auto self = weak.lock()) {
          self->give(turn, std::move(response));
        }
      });
      return;
    }
    if (!answered) {
      net::HttpResponse refusal = to_response(std::move(answered).error());
      add_warnings(call, refusal);
      give(turn, std::move(refusal));
      return;
    }
    give(turn, *std::move(answered));
  }

  void give(const std::shared_ptr<Turn>& turn, net::HttpResponse response) {
    const Call& call = turn->call;
    if (response.take_over) {
      send(*turn, std::move(response));
      return;
    }
    compress(turn->request, response);
    if (response.stream || !call.info.is_resource) {
      send(*turn, std::move(response));
      return;
    }
    // What is answered is kept: what was written, and what others wrote and this has read.
    const bool reads = call.info.verb == "get" || call.info.verb == "list";
    shared.registry->when_durable(
        [self = weak_from_this(), turn, reads,
         response = std::move(response)](const Result<void>& kept) mutable {
          if (const auto state = self.lock()) {
            if (!reads) {
              state->durable = kept;
            }
            state->send(*turn, kept ? std::move(response)
                                    : to_response(internal_error(kept.error().message)));
          }
        });
  }

  void finished(FlowControl::Id id) {
    for (const FlowControl::Id next : flow.finished(id)) {
      run_waiting(next);
    }
  }

  void run_waiting(FlowControl::Id id) {
    if (const auto at = waiting.find(id); at != waiting.end()) {
      const auto turn = std::move(at->second);
      waiting.erase(at);
      run(turn);
    }
  }

  void await_expiry() {
    const auto next = flow.next_expiry();
    if (!next) {
      expiry.cancel();
      return;
    }
    expiry.set(*next - shared.loop->now(), [this] {
      const FlowControl::Expired expired = flow.expire(shared.loop->now());
      for (const FlowControl::Id id : expired.refused) {
        if (const auto at = waiting.find(id); at != waiting.end()) {
          send(*at->second, to_response(too_many_requests()));
          waiting.erase(at);
        }
      }
      for (const FlowControl::Id id : expired.running) {
        run_waiting(id);
      }
      await_expiry();
    });
  }

  void send(const Turn& turn, net::HttpResponse response) {
    count(turn, response);
    if (options.audit) {
      audit.write({.request = turn.request,
                   .info = turn.call.info,
                   .source = {},
                   .user = turn.passage.user,
                   .acting_as = turn.passage.acting_as,
                   .decision = turn.passage.decision,
                   .code = response.status,
                   .reason = {},
                   .message = {},
                   .annotations = turn.call.notes.annotations,
                   .received = turn.received,
                   .sent = shared.loop->now()});
    }
    turn.respond(std::move(response));
  }

  void count(const Turn& turn, net::HttpResponse& response) {
    const RequestMetrics::Outcome outcome{.code = response.status,
                                          .bytes = response.pieces ? response.pieces->size()
                                                                   : response.body.size(),
                                          .took = shared.loop->now() - turn.received,
                                          .streams = response.stream != nullptr};
    metrics.answered(turn.labels, outcome);
    if (outcome.streams) {
      const auto count_by = [&](void (RequestMetrics::*change)(const RequestLabels&)) {
        return [self = weak_from_this(), labels = turn.labels, change] {
          if (const auto state = self.lock()) {
            (state->metrics.*change)(labels);
          }
        };
      };
      streams.take(response, count_by(&RequestMetrics::stream_began),
                   count_by(&RequestMetrics::stream_ended));
    }
    if (log_level() <= LogLevel::Info) {
      log(LogLevel::Info, "api",
          fmt::format("{} {} {} {} by {}", turn.request.method, turn.request.target,
                      response.status, outcome.streams ? "streams" : to_string(outcome.took),
                      turn.passage.user.name));
    }
  }

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
    if (!resource->deprecation.empty()) {
      call.notes.warnings.push_back(resource->deprecation);
    }
    if (Access::answers(call.info)) {
      return review(call, *resource);
    }
    if (resource->plural == "namespaces" && resource->group.empty()) {
      call.info.ns.clear();
    }
    return call.info.subresource.empty() ? whole(call, *resource) : part(call, *resource);
  }

  /// A question about rights or tokens: what is created is the answer, and is not kept.
  Answer<net::HttpResponse> review(Call& call, const schema::Resource& resource) {
    const schema::Subresource* sub = resource.subresource(call.info.subresource);
    const api::GroupVersionKind gvk = sub == nullptr ? resource.gvk() : sub->kind;
    const auto type = sub == nullptr ? resource.type : schema::Catalogue::builtin().type(gvk);
    auto read = read_object(call, gvk, *type);
    if (!read) {
      return tl::unexpected(std::move(read).error());
    }
    api::json::value body = *std::move(read);
    if (gvk.group == "authorization.k8s.io") {
      const auto query = write_query(call, "CreateOptions");
      if (!query) {
        return tl::unexpected(query.error());
      }
      const patch::Target target = write_target(resource, "");
      body = patch::track_update(target, target.zero, std::move(body),
                                 writer_of(shared, call, *query));
    }
    if (auto judged = judge_errand(shared, call, {.kind = gvk, .object = &body}); !judged) {
      return tl::unexpected(std::move(judged).error());
    }
    const auto reviewed = access->answer(call.info, call.user, body, shared.loop->now());
    if (!reviewed) {
      return tl::unexpected(reviewed.error());
    }
    return answer(201, call, encode(*reviewed, call.wanted.encoding));
  }

  Answer<net::HttpResponse> whole(Call& call, const schema::Resource& resource) {
    const bool of_one = call.info.verb == "update" || call.info.verb == "patch";
    if ((call.info.verb == "create" && !call.info.name.empty()) ||
        (of_one && call.info.name.empty())) {
      return tl::unexpected(method_not_allowed());
    }
    if (resource.group.empty() && resource.plural == "bindings" && call.info.verb == "create") {
      return bind_pod(shared, call);
    }
    if (!resource.can(call.info.verb)) {
      return tl::unexpected(method_not_allowed());
    }
    if (shared.nodes != nullptr && is_live(resource)) {
      answer_live_later(shared, call, resource);
      return net::HttpResponse();
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
    if (is_part_of_object(sub->name)) {
      return by_verb(shared, call, resource);
    }
    if (shared.nodes != nullptr && resource.group.empty() && resource.plural == "pods") {
      if (sub->name == "log") {
        return pod_log(shared, call);
      }
      if (sub->name == "exec" || sub->name == "attach" || sub->name == "portforward") {
        return pod_connection(shared, call);
      }
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
  Answer<net::HttpResponse> page(Call& call) {
    const std::string_view path = call.info.path;
    if (method_of(*call.request) != "GET") {
      return not_a_page();
    }
    if (auto health = health_page(path, call.query, checks)) {
      return *std::move(health);
    }
    if (path == "/metrics") {
      return metrics_page(call);
    }
    if (path == "/metrics/nodes" && options.node_metrics) {
      call.later = [page = options.node_metrics](const net::HttpRespond& respond) {
        page([respond](std::string text) { respond(prometheus_page(std::move(text))); });
      };
      return net::HttpResponse();
    }
    if (path == "/metrics/gpus" && shared.nodes != nullptr) {
      call.later = [with = shared](const net::HttpRespond& respond) {
        with.nodes->measure(node_names(*with.registry), [with, respond] {
          respond(prometheus_page(gpu_page(*with.registry, *with.nodes)));
        });
      };
      return net::HttpResponse();
    }
    if (path == "/version") {
      return document(version_document(schema::Catalogue::builtin().version()));
    }
    if (path.starts_with("/openapi/")) {
      return openapi.page(path).value_or(not_a_page());
    }
    return discovery(call, path);
  }

  net::HttpResponse metrics_page(Call& call) const {
    RequestMetrics::Objects objects;
    for (const schema::Resource* resource : resources.all()) {
      const store::GroupKind kind{resource->group, resource->kind};
      if (resource->can("create") && resource->can("list")) {
        objects[resource->group.empty() ? resource->plural
                                        : resource->plural + "." + resource->group] =
            shared.registry->list({.kind = kind, .ns = "", .labels = {}}).items.size();
      }
    }
    std::string text = metrics.text(objects);
    if (!options.more_metrics) {
      return prometheus_page(std::move(text));
    }
    call.later = [text = std::move(text),
                  more = options.more_metrics](const net::HttpRespond& respond) {
      more([text, respond](const std::string& rest) { respond(prometheus_page(text + rest)); });
    };
    return net::HttpResponse();
  }

  static net::HttpResponse prometheus_page(std::string text) {
    return {.status = 200,
            .headers = {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}},
            .body = std::move(text)};
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
    return found.empty() ? not_a_page() : document(found);
  }

  Answer<net::HttpResponse> aggregated_answer(DiscoveryPart part) {
    net::HttpResponse response = document(aggregated(resources, part));
    response.headers.front().second =
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    return response;
  }

  static net::HttpResponse document(const boost::json::object& whole) {
    return net::json_response(200, api::to_json(whole) + "\n");
  }

  ApiServerOptions options;
  Resources resources;
  OpenApiPages openapi{resources};
  ListPages pages;
  std::unique_ptr<Access> access;
  std::unique_ptr<Policies> policies;
  Shared shared;
  Definitions definitions;
  std::unique_ptr<ClusterRoleAggregation> aggregation;
  std::unique_ptr<CertificateSigner> signer;
  FlowControl flow;
  AuditLog audit;
  RequestMetrics metrics;
  LiveStreams streams;
  LiveConnections connections;
  std::vector<HealthCheck> checks;
  Result<void> durable; ///< how the last write fared on its way to the disk
  bool draining = false;
  std::map<FlowControl::Id, std::shared_ptr<Turn>> waiting;
  Timer expiry{*shared.loop};
};

Result<std::unique_ptr<ApiServer>> ApiServer::open(Loop& loop, store::Registry& registry,
                                                   ApiServerOptions options) {
  if (!options.account_key) {
    BERTH_TRY(options.account_key, TokenKey::generate());
  }
  const auto seed = static_cast<std::uint64_t>(loop.now().unix_nanos());
  BERTH_TRY(auto access, Access::open(registry, *options.account_key, options.access, Rng(seed)));
  auto state = std::make_shared<State>(loop, registry, std::move(options), std::move(access));
  BERTH_TRY(state->policies, Policies::open(registry, state->resources, state->access->rbac()));
  state->shared.policies = state->policies.get();
  registry.judge_components_by(judged_components(*state->policies));
  BERTH_TRY(state->aggregation, ClusterRoleAggregation::open(loop, registry));
  if (state->options.authority) {
    BERTH_TRY(state->signer, CertificateSigner::open(loop, registry, *state->options.authority));
  }
  BERTH_CHECK(ensure_bootstrap_policy(registry, loop.now()));
  return std::unique_ptr<ApiServer>(new ApiServer(std::move(state)));
}

ApiServer::~ApiServer() {
  state_->shared.registry->judge_components_by({});
}

void ApiServer::drain() {
  state_->draining = true;
  state_->streams.end_all();
  state_->connections.cut_all();
}

Answer<boost::json::object> ApiServer::issue_token(const api::Key& account,
                                                   const boost::json::value& request) {
  return state_->access->issue(account, request, state_->shared.loop->now());
}

void ApiServer::handle(const net::HttpRequest& request, const net::HttpRespond& respond) {
  state_->take(request, respond);
}

} // namespace berth::server
