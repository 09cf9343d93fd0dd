#include "berth/cli/up/live_cluster.h"

#include <utility>

#include "berth/scheduler/scheduler.h"

namespace berth::cli {
namespace {

constexpr std::uint64_t kFaultStream = 7; ///< of the seed; the cluster uses those before

} // namespace

LiveCluster::LiveCluster(net::AsioLoop& api_loop, store::Registry& registry,
                         cluster::ClusterSpec spec, cluster::ClusterOptions options)
    : api_loop_(api_loop), client_(registry, api_loop, thread_.loop()) {
  const Rng faults = Rng(options.seed).fork(kFaultStream);
  options.api = &client_;
  cluster_.emplace(thread_.loop(), std::move(spec), std::move(options));
  cluster_->scheduler().on_sync([this] { synced_ = true; });
  nodes_.emplace(thread_.loop(), cluster_->fleet());
  near_nodes_.emplace(*nodes_, cluster_->fleet().names(), thread_.loop(), api_loop);
  faults_.emplace(thread_.loop(), client_, faults, cluster_->fleet());
  thread_.start();
}

LiveCluster::~LiveCluster() {
  thread_.stop();
}

template <class Ask, class Done> void LiveCluster::ask(Ask ask, Done done) {
  thread_.loop().post_from_any_thread([this, ask, done = std::move(done)]() mutable {
    api_loop_.post_from_any_thread(
        [done = std::move(done), answer = ask(*cluster_)] { done(answer); });
  });
}

void LiveCluster::scheduler_metrics(std::function<void(std::string)> done) {
  ask([](const cluster::Cluster& cluster) { return cluster.scheduler().metrics(); },
      std::move(done));
}

void LiveCluster::agent_counts(std::function<void(node::AgentCounts::Families)> done) {
  ask([](cluster::Cluster& cluster) { return fleet_counts(cluster.fleet()); }, std::move(done));
}

} // namespace berth::cli
