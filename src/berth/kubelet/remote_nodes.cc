#include "berth/kubelet/remote_nodes.h"

#include <utility>

#include "berth/api/json.h"
#include "berth/kubelet/gpu_stats.h"
#include "berth/kubelet/remote_log.h"
#include "berth/kubelet/stats_summary.h"
#include "berth/server/streams/stream_options.h"

namespace berth::kubelet {
namespace {

namespace json = api::json;

constexpr std::int64_t kHighestPort = 65535;
constexpr int kOk = 200;
constexpr Duration kPatience = Duration::seconds(10);

} // namespace

RemoteNodes::RemoteNodes(net::AsioLoop& loop, const store::Registry& registry,
                         RemoteNodesOptions options)
    : loop_(&loop), registry_(&registry), options_(std::move(options)),
      client_(loop, {.tls = options_.tls}) {}

std::optional<net::HttpUrl> RemoteNodes::agent_of(std::string_view node) const {
  const auto object = registry_->get(store::kNodes, {"", std::string(node)});
  if (!object) {
    return std::nullopt;
  }
  const json::value* port =
      api::find_path(object->json(), "status.daemonEndpoints.kubeletEndpoint.Port");
  boost::system::error_code no_number;
  const auto number = port == nullptr ? 0 : port->to_number<std::int64_t>(no_number);
  const json::value* addresses = api::find_path(object->json(), "status.addresses");
  if (no_number || number < 1 || number > kHighestPort || addresses == nullptr ||
      !addresses->is_array()) {
    return std::nullopt;
  }
  for (const json::value& address : addresses->as_array()) {
    const std::string_view host = api::string_at(address, "address");
    if (api::string_at(address, "type") == "InternalIP" && !host.empty()) {
      return net::HttpUrl{.tls = options_.tls != nullptr,
                          .host = std::string(host),
                          .port = static_cast<std::uint16_t>(number),
                          .path = {}};
    }
  }
  return std::nullopt;
}

net::HttpHeaders RemoteNodes::headers() const {
  return options_.bearer_token.empty()
             ? net::HttpHeaders()
             : net::HttpHeaders{{"Authorization", "Bearer " + options_.bearer_token}};
}

bool RemoteNodes::has(std::string_view node) const {
  return agent_of(node).has_value();
}

void RemoteNodes::open_log(
    std::string_view node, server::LogRequest what, std::function<void()> on_more,
    std::function<void(server::Answer<std::unique_ptr<server::LogReading>>)> done) {
  const auto agent = agent_of(node);
  if (!agent) {
    done(tl::unexpected(std::move(what.unreachable)));
    return;
  }
  read_remote_log(client_, {.url = *agent, .target = log_target(what), .headers = headers()},
                  std::move(on_more), std::move(done));
}

void RemoteNodes::find_streams(std::string_view node, server::StreamRequest what,
                               std::function<void(server::Answer<server::StreamPlace>)> done) {
  auto agent = agent_of(node);
  if (!agent) {
    done(tl::unexpected(std::move(what.unreachable)));
    return;
  }
  done(server::StreamPlace{.loop = loop_,
                           .url = *std::move(agent),
                           .target = server::kubelet_target(what),
                           .tls = options_.tls,
                           .headers = headers()});
}

/// Some nodes, asked together.
struct RemoteNodes::Measuring {
  std::map<std::string, std::optional<server::NodeUsage>> usages; ///< none: no answer yet
  std::map<std::string, std::vector<server::GpuUsage>> gpus;
  std::size_t left = 0;
  std::function<void()> done;
};

void RemoteNodes::measure(const std::vector<std::string>& nodes, std::function<void()> done) {
  std::vector<std::pair<std::string, net::HttpUrl>> asked;
  for (const std::string& node : nodes) {
    if (auto agent = agent_of(node)) {
      asked.emplace_back(node, *std::move(agent));
    }
  }
  if (asked.empty()) {
    done();
    return;
  }
  auto measuring = std::make_shared<Measuring>();
  measuring->left = 2 * asked.size();
  measuring->done = std::move(done);
  for (const auto& [node, agent] : asked) {
    measuring->usages[node];
    ask(agent, "/stats/summary", measuring, [measuring, of = node](const json::value& document) {
      if (auto usage = read_stats_summary(document)) {
        measuring->usages[of] = *std::move(usage);
      }
    });
    ask(agent, "/stats/gpus", measuring, [measuring, of = node](const json::value& document) {
      measuring->gpus[of] = read_gpu_stats(document);
    });
  }
}

// The client gives up in silence what is under way when it goes, so this is there when an answer
// is.
void RemoteNodes::ask(const net::HttpUrl& agent, std::string target,
                      const std::shared_ptr<Measuring>& measuring,
                      std::function<void(const json::value&)> take) {
  client_.send(
      agent, {.method = "GET", .target = std::move(target), .headers = headers(), .body = {}},
      [this, measuring, take = std::move(take)](const Result<net::HttpResponse>& response) {
        if (response && response->status == kOk) {
          if (const auto document = api::parse_json(response->body)) {
            take(*document);
          }
        }
        if (--measuring->left == 0) {
          keep(*measuring);
          measuring->done();
        }
      },
      kPatience);
}

void RemoteNodes::keep(Measuring& measured) {
  for (auto& [node, usage] : measured.usages) {
    if (usage) {
      usage->gpus = std::move(measured.gpus[node]);
      usages_.insert_or_assign(node, *std::move(usage));
    } else {
      usages_.erase(node);
    }
  }
}

std::optional<server::NodeUsage> RemoteNodes::usage(std::string_view node) const {
  const auto found = usages_.find(node);
  return found == usages_.end() ? std::nullopt : std::optional(found->second);
}

} // namespace berth::kubelet
