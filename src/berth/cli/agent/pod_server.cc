#include "berth/cli/agent/pod_server.h"

#include <utility>

#include <fmt/format.h>

#include "berth/net/certificates.h"
#include "berth/net/tls.h"

namespace berth::cli {
namespace {

constexpr Duration kClocksDiffer = Duration::hours(1);
constexpr Duration kYear = Duration::hours(24 * 365);

} // namespace

Result<std::unique_ptr<PodServer>> PodServer::open(net::AsioLoop& loop, runtime::Runtime& runtime,
                                                   const PodServerOptions& options) {
  const TimePoint from = loop.now() - kClocksDiffer;
  const TimePoint to = loop.now() + kYear;
  BERTH_TRY(const net::KeyPair own,
            net::make_authority({.common_name = fmt::format("{}-ca", options.node),
                                 .not_before = from,
                                 .not_after = to}));
  BERTH_TRY(const net::KeyPair shown,
            net::issue(own, {.common_name = options.node,
                             .names = {fmt::format("IP:{}", options.listen.address),
                                       fmt::format("DNS:{}", options.node)},
                             .not_before = from,
                             .not_after = to}));
  kubelet::KubeletServerOptions with{.address = options.listen.address,
                                     .port = options.listen.port,
                                     .metrics = options.metrics,
                                     .node = options.node,
                                     .gpus = options.gpus,
                                     .gpu_driver = options.gpu_driver};
  BERTH_TRY(with.tls, net::TlsContext::server({.certificate = shown.certificate,
                                               .key = shown.key,
                                               .client_ca = options.client_ca}));
  std::unique_ptr<PodServer> server(new PodServer(loop, runtime, options.disk));
  with.meter = &server->meter_;
  BERTH_TRY(server->server_, kubelet::KubeletServer::listen(server->local_, std::move(with)));
  return server;
}

} // namespace berth::cli
