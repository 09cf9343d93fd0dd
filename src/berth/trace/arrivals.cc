#include "berth/trace/arrivals.h"

#include <array>
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/sched/decider.h"
#include "berth/sched/gpu_parts.h"

namespace berth::trace {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;
constexpr std::int64_t kPodsPerNode = 1001; // as published
constexpr std::size_t kMostPercent = 130;

std::shared_ptr<const model::Node> node_object(const TraceNode& trace) {
  auto node = std::make_shared<model::Node>();
  node->meta.name = trace.name;
  node->allocatable["cpu"] = api::Quantity::from_milli(trace.cpu);
  node->allocatable["memory"] = api::Quantity::from_int(trace.memory_mib * kMiB);
  node->allocatable["pods"] = api::Quantity::from_int(kPodsPerNode);
  if (trace.gpus > 0) {
    node->allocatable[std::string(model::kGpuCount)] = api::Quantity::from_int(trace.gpus);
    node->meta.labels[std::string(model::kGpuCardModel)] = trace.model;
  }
  node->capacity = node->allocatable;
  return node;
}

std::shared_ptr<const model::Pod> pod_object(const TracePod& trace, std::size_t arrival) {
  auto pod = std::make_shared<model::Pod>();
  pod->meta.ns = "default";
  pod->meta.name = trace.name;
  pod->meta.uid = fmt::to_string(arrival);
  const sched::GpuDemand& demand = trace.demand;
  if (demand.gpus > 0) {
    pod->meta.annotations[std::string(model::kGpuMilli)] = fmt::to_string(demand.milli);
    pod->meta.annotations[std::string(model::kGpuCount)] = fmt::to_string(demand.gpus);
    if (!demand.models.empty()) {
      pod->meta.annotations[std::string(model::kGpuCardModel)] =
          fmt::format("{}", fmt::join(demand.models, "|"));
    }
  }
  model::Container& container = pod->spec.containers.emplace_back();
  container.name = "main";
  container.resources.requests["cpu"] = api::Quantity::from_milli(demand.cpu);
  container.resources.requests["memory"] = api::Quantity::from_int(trace.memory_mib * kMiB);
  return pod;
}

/// Fragments of the cluster, kept up node by node.
class Fragments {
 public:
  explicit Fragments(const sched::TargetWorkload& target) : target_(&target) {}

  void measure(const sched::ClusterState& state, sched::NodeId id) {
    const sched::NodeInfo& node = state.node(id);
    if (node.parts.all == 0 || target_->pods.empty()) {
      return;
    }
    const sched::FragmentMeter& meter = meter_of(state.gpu_models().name(node.parts.model));
    const sched::GpuRoom room = sched::gpu_room(state, node);
    of_.resize(std::max<std::size_t>(of_.size(), id.index() + 1), 0);
    const std::int64_t now =
        meter.fragment({.cpu = node.allocatable.get(sched::kCpu) - node.requested.get(sched::kCpu),
                        .milli = {room.milli.data(), room.count}});
    sum_ += now - of_[id.index()];
    of_[id.index()] = now;
  }
  double milli() const {
    const std::int64_t weight = target_->typical();
    return weight == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(weight);
  }

 private:
  const sched::FragmentMeter& meter_of(const std::string& model) {
    const auto it = meters_.find(model);
    return it != meters_.end()
               ? it->second
               : meters_.emplace(model, sched::FragmentMeter(*target_, model)).first->second;
  }

  const sched::TargetWorkload* target_;
  std::map<std::string, sched::FragmentMeter> meters_;
  std::vector<std::int64_t> of_; // by node, times the target's weight
  std::int64_t sum_ = 0;
};

double percent(double part, double whole) {
  return std::round(10'000 * part / whole) / 100;
}

} // namespace

Result<ArrivalResult> run_arrivals(const std::vector<TraceNode>& nodes,
                                   const std::vector<TracePod>& pods, const ArrivalOrder& order,
                                   const sched::Profile& profile,
                                   const sched::TargetWorkload& target) {
  BERTH_TRY(sched::Framework framework, sched::Framework::make(profile, sched::builtin_plugins()));
  sched::ClusterState state;
  Fragments fragments(target);
  ArrivalResult result;
  for (const std::uint32_t row : order.nodes) {
    fragments.measure(state, state.set_node(node_object(nodes[row])));
    result.total += nodes[row].gpus * sched::kWholeGpuMilli;
  }
  sched::Decider decider(framework, state);
  ArrivalPoint point;
  result.points.reserve(order.pods.size());
  for (std::size_t i = 0; i < order.pods.size(); ++i) {
    const TracePod& pod = pods[order.pods[i]];
    const std::int64_t demand = std::int64_t{pod.demand.milli} * pod.demand.gpus;
    const sched::Decision decision = decider.decide(state.describe(pod_object(pod, i)));
    point.arrived += demand;
    if (decision.placed()) {
      point.held += demand;
      fragments.measure(state, decision.node);
    } else {
      ++result.turned_away;
    }
    point.fragment = fragments.milli();
    result.points.push_back(point);
  }
  return result;
}

ArrivalCurves curves_of(const ArrivalResult& result) {
  std::array<double, kMostPercent + 1> held{};
  std::array<double, kMostPercent + 1> fragment{};
  std::array<std::int64_t, kMostPercent + 1> count{};
  const auto total = static_cast<double>(result.total);
  for (const ArrivalPoint& point : result.points) {
    const double arrived = std::nearbyint(100 * static_cast<double>(point.arrived) / total);
    if (arrived > static_cast<double>(kMostPercent)) {
      continue;
    }
    const auto at = static_cast<std::size_t>(arrived);
    held[at] += percent(static_cast<double>(point.held), total);
    fragment[at] += percent(point.fragment, total);
    ++count[at];
  }
  ArrivalCurves curves;
  const auto mean = [&](const auto& sums, std::size_t from, std::size_t to) {
    double sum = 0;
    std::int64_t n = 0;
    for (std::size_t i = from; i <= to; ++i) {
      sum += sums[i];
      n += count[i];
    }
    return n == 0 ? 0 : sum / static_cast<double>(n);
  };
  for (std::size_t i = 0; i <= kMostPercent; ++i) {
    const bool gap = count[i] == 0;
    const std::size_t from = gap && i > 0 ? i - 1 : i;
    const std::size_t to = gap && i < kMostPercent ? i + 1 : i;
    curves.held.push_back(mean(held, from, to));
    curves.fragment.push_back(mean(fragment, from, to));
  }
  return curves;
}

} // namespace berth::trace
