#include "berth/cli/run/observer.h"

#include <algorithm>
#include <string_view>

#include "berth/model/node.h"

namespace berth::cli {
namespace {

client::ListOptions all_of(const client::GroupKind& kind) {
  return {.kind = kind, .ns = "", .labels = {}, .node = {}};
}

hardware::GpuMask unhealthy_of(const model::Node& node) {
  const auto it = node.meta.annotations.find(model::kUnhealthyGpusAnnotation);
  if (it == node.meta.annotations.end()) {
    return 0;
  }
  return hardware::parse_gpu_indices(it->second).value_or(0);
}

} // namespace

const NodeChange* NodeHistory::at(TimePoint when) const {
  const auto after = std::ranges::upper_bound(changes, when, {}, &NodeChange::at);
  return after == changes.begin() ? nullptr : &*std::prev(after);
}

Observer::Observer(cluster::Cluster& cluster, Loop& loop,
                   std::function<void(const cluster::Mark&)> on_mark)
    : cluster_(&cluster), loop_(&loop), forward_(std::move(on_mark)) {
  client::Client& client = cluster.client();
  informers_.push_back(std::make_unique<client::Informer>(
      client, loop, all_of(client::kNodes),
      [this](const auto& old, const auto& now) { on_node(old, now); }));
  informers_.push_back(keep_last(client::kJobs, jobs_));
  informers_.push_back(keep_last(client::kPodGroups, gangs_));
  record_ = std::make_unique<cluster::FlightRecord>(
      client, loop, [this](const cluster::Mark& mark) { this->on_mark(mark); });
}

std::unique_ptr<client::Informer> Observer::keep_last(const client::GroupKind& kind,
                                                      std::map<std::string, api::Object>& into) {
  return std::make_unique<client::Informer>(cluster_->client(), *loop_, all_of(kind),
                                            [&into](const auto& /*old*/, const auto& now) {
                                              if (now) {
                                                into.insert_or_assign(now.meta().uid, now);
                                              }
                                            });
}

void Observer::on_node(const api::Object& old, const api::Object& now) {
  const api::Object& object = now ? now : old;
  const auto node = model::node_view(object);
  if (!node) {
    return;
  }
  NodeHistory& history = nodes_[object.meta().name];
  history.last = object;
  const NodeChange change{.at = loop_->now(),
                          .present = static_cast<bool>(now),
                          .ready = now && (*node)->ready(),
                          .unhealthy = unhealthy_of(**node)};
  const auto same = [&](const NodeChange& c) {
    return c.present == change.present && c.ready == change.ready &&
           c.unhealthy == change.unhealthy;
  };
  if (history.changes.empty() || !same(history.changes.back())) {
    history.changes.push_back(change);
  }
}

void Observer::on_mark(const cluster::Mark& mark) {
  constexpr std::string_view kPod = "pod/";
  if (mark.what == to_string(cluster::PodState::Running) && mark.object.starts_with(kPod)) {
    const std::string_view rest = std::string_view(mark.object).substr(kPod.size());
    const std::size_t slash = rest.find('/');
    if (slash != std::string_view::npos) {
      const api::Key key{std::string(rest.substr(0, slash)), std::string(rest.substr(slash + 1))};
      containers_.insert_or_assign(key, cluster_->container_facts(key));
    }
  }
  if (forward_) {
    forward_(mark);
  }
}

int Observer::ready_nodes() const {
  return static_cast<int>(std::ranges::count_if(
      nodes_, [](const auto& entry) { return entry.second.changes.back().ready; }));
}

const std::vector<runtime::ContainerFacts>& Observer::containers(const api::Key& pod) const {
  static const std::vector<runtime::ContainerFacts> kNone;
  const auto it = containers_.find(pod);
  return it == containers_.end() ? kNone : it->second;
}

} // namespace berth::cli
