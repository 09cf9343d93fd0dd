#include "berth/kubelet/kubelet_server.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/kubelet/gpu_stats.h"
#include "berth/kubelet/kubelet_paths.h"
#include "berth/kubelet/stats_summary.h"
#include "berth/server/gpu_metrics.h"
#include "berth/server/gpu_page.h"
#include "berth/server/log_answer.h"
#include "berth/server/log_options.h"
#include "berth/server/request_info.h"
#include "berth/server/streams/connect.h"
#include "berth/server/streams/stream_options.h"

namespace berth::kubelet {
namespace {

namespace json = api::json;
using What = KubeletPath::What;
using server::StreamRequest;

/// Kubelets speak of what is wrong in plain text.
net::HttpResponse plain(const server::Status& status) {
  return net::text_response(status.code, status.message);
}

StreamRequest::Kind kind_of(What what) {
  return what == What::Exec     ? StreamRequest::Kind::Exec
         : what == What::Attach ? StreamRequest::Kind::Attach
                                : StreamRequest::Kind::PortForward;
}

/// The pods that have containers here, by namespace and name.
std::string pods_of(const runtime::Listing& listing) {
  json::array items;
  for (const runtime::SandboxStatus& sandbox : listing.sandboxes) {
    if (sandbox.state != runtime::SandboxState::Ready) {
      continue;
    }
    json::array containers;
    for (const runtime::ContainerStatus& container : listing.containers) {
      if (container.sandbox_id == sandbox.id) {
        containers.push_back(json::object{{"name", container.name}, {"image", container.image}});
      }
    }
    items.push_back(json::object{
        {"metadata", json::object{{"name", sandbox.name},
                                  {"namespace", sandbox.ns},
                                  {"uid", sandbox.uid},
                                  {"creationTimestamp", to_rfc3339(sandbox.created_at)}}},
        {"spec", json::object{{"containers", std::move(containers)}}},
        {"status", json::object{{"podIP", runtime::only_loopback(sandbox) ? "" : sandbox.ip}}}});
  }
  return api::to_json(json::object{{"kind", "PodList"},
                                   {"apiVersion", "v1"},
                                   {"metadata", json::object()},
                                   {"items", std::move(items)}}) +
         "\n";
}

net::HttpResponse prometheus(std::string text) {
  return {.status = 200,
          .headers = {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}},
          .body = std::move(text)};
}

class Server final : public KubeletServer {
 public:
  Server(LocalNode& node, KubeletServerOptions options)
      : node_(&node), options_(std::move(options)) {}

  Result<void> open() {
    net::HttpServerOptions http{
        .address = options_.address, .port = options_.port, .tls = options_.tls};
    BERTH_TRY(http_, net::HttpServer::listen(
                         node_->loop(), std::move(http),
                         [this](const net::HttpRequest& request, const net::HttpRespond& respond) {
                           take(request, respond);
                         }));
    return {};
  }
  std::uint16_t port() const override { return http_->port(); }

 private:
  void take(const net::HttpRequest& request, const net::HttpRespond& respond) {
    const auto path = kubelet_path(request.path());
    if (path && path->what == What::Healthz) {
      respond(net::text_response(200, "ok"));
      return;
    }
    if (const auto refusal = refuse(request)) {
      respond(plain(*refusal));
      return;
    }
    if (!path) {
      respond(net::text_response(404, "404 page not found"));
      return;
    }
    const bool streams =
        path->what == What::Exec || path->what == What::Attach || path->what == What::PortForward;
    if (request.method != "GET" && request.method != "HEAD" &&
        !(streams && request.method == "POST")) {
      net::HttpResponse response = net::text_response(405, "405: Method Not Allowed");
      response.headers.emplace_back("Allow", streams ? "GET, POST" : "GET");
      respond(std::move(response));
      return;
    }
    streams ? connect(request, *path, respond) : show(request, *path, respond);
  }

  /// Why whoever asks may not; nullopt: he may.
  std::optional<server::Status> refuse(const net::HttpRequest& request) const {
    constexpr std::string_view kBearer = "Bearer ";
    std::string user;
    std::vector<std::string> groups;
    const std::string_view header = net::header_of(request.headers, "Authorization");
    if (request.peer) {
      user = request.peer->common_name;
      groups = request.peer->organizations;
    } else if (const server::User* known = header.starts_with(kBearer)
                                               ? options_.tokens.find(header.substr(kBearer.size()))
                                               : nullptr) {
      user = known->name;
      groups = known->groups;
    } else {
      return server::Status{
          .code = 401, .reason = "", .message = "Unauthorized", .details = nullptr};
    }
    const bool may = std::ranges::find(options_.users, user) != options_.users.end() ||
                     std::ranges::any_of(groups, [&](const std::string& group) {
                       return std::ranges::find(options_.groups, group) != options_.groups.end();
                     });
    if (may) {
      return std::nullopt;
    }
    return server::Status{
        .code = 403,
        .reason = "",
        .message = fmt::format("Forbidden (user={}, verb={}, resource=nodes, subresource=proxy)",
                               user, request.method == "POST" ? "create" : "get"),
        .details = nullptr};
  }

  void show(const net::HttpRequest& request, const KubeletPath& path,
            const net::HttpRespond& respond) {
    if (path.what == What::ContainerLogs) {
      show_log(request, path, respond);
    } else if (path.what == What::Metrics) {
      respond(options_.metrics ? prometheus(options_.metrics())
                               : net::text_response(404, "there are no metrics here"));
    } else if (path.what == What::StatsSummary || path.what == What::ResourceMetrics) {
      measure(path.what, respond);
    } else if (path.what == What::StatsGpus) {
      respond(net::json_response(200, api::to_json(gpu_stats(gpus())) + "\n"));
    } else if (path.what == What::GpuMetrics) {
      show_gpus(respond);
    } else if (options_.pods) {
      respond(net::json_response(200, options_.pods()));
    } else {
      node_->runtime().list([respond](const Result<runtime::Listing>& listing) {
        respond(listing ? net::json_response(200, pods_of(*listing))
                        : net::text_response(500, listing.error().message));
      });
    }
  }

  void measure(What what, const net::HttpRespond& respond) {
    if (options_.meter == nullptr) {
      respond(net::text_response(404, "nobody measures here"));
      return;
    }
    options_.meter->measure([what, node = options_.node,
                             respond](const Result<std::shared_ptr<const Measurement>>& measured) {
      if (!measured) {
        respond(net::text_response(500, measured.error().message));
      } else if (what == What::StatsSummary) {
        respond(net::json_response(200, api::to_json(stats_summary(node, **measured)) + "\n"));
      } else {
        respond(prometheus(resource_metrics(**measured)));
      }
    });
  }

  std::vector<server::GpuUsage> gpus() const {
    return options_.gpus ? options_.gpus() : std::vector<server::GpuUsage>();
  }

  // Who has them is named by the pods that have a sandbox here.
  void show_gpus(const net::HttpRespond& respond) {
    node_->runtime().list([node = options_.node, driver = options_.gpu_driver, gpus = gpus(),
                           respond](const Result<runtime::Listing>& listing) {
      std::map<std::string, api::Key> pods;
      for (const runtime::SandboxStatus& sandbox :
           listing ? listing->sandboxes : std::vector<runtime::SandboxStatus>()) {
        if (sandbox.state == runtime::SandboxState::Ready) {
          pods.emplace(sandbox.uid, api::Key{sandbox.ns, sandbox.name});
        }
      }
      respond(prometheus(server::gpu_metrics({server::gpu_samples(node, driver, gpus, pods)})));
    });
  }

  void show_log(const net::HttpRequest& request, const KubeletPath& path,
                const net::HttpRespond& respond) {
    const auto options = server::log_options(path.pod, request.parameters(), node_->loop().now());
    if (!options) {
      respond(plain(options.error()));
      return;
    }
    server::LogRequest what{.ns = path.ns,
                            .pod = path.pod,
                            .pod_uid = {},
                            .container = path.container,
                            .container_id = {},
                            .options = *options};
    server::answer_with_log(
        [&](std::function<void()> on_more, LocalNode::LogOpened done) {
          node_->open_log(std::move(what), std::move(on_more), std::move(done));
        },
        respond);
  }

  void connect(const net::HttpRequest& request, const KubeletPath& path,
               const net::HttpRespond& respond) {
    auto what = server::stream_options(kind_of(path.what), request, server::StreamNames::Kubelet);
    const auto spoken = server::check_upgrade(request);
    if (!what || !spoken) {
      respond(plain(what ? spoken.error() : what.error()));
      return;
    }
    what->ns = path.ns;
    what->pod = path.pod;
    what->pod_uid = path.uid;
    what->container = path.container;
    node_->find_streams(*what, [weak = std::weak_ptr(live_), request, what = *what,
                                respond](const server::Answer<server::StreamPlace>& place) {
      const auto live = weak.lock();
      if (!place) {
        respond(plain(place.error()));
      } else if (live != nullptr) {
        server::connect_streams(request, what, *place, *live, respond);
      }
    });
  }

  LocalNode* node_;
  KubeletServerOptions options_;
  std::shared_ptr<server::LiveConnections> live_ = std::make_shared<server::LiveConnections>();
  std::unique_ptr<net::HttpServer> http_;
};

} // namespace

Result<std::unique_ptr<KubeletServer>> KubeletServer::listen(LocalNode& node,
                                                             KubeletServerOptions options) {
  auto server = std::make_unique<Server>(node, std::move(options));
  BERTH_CHECK(server->open());
  return std::unique_ptr<KubeletServer>(std::move(server));
}

} // namespace berth::kubelet
