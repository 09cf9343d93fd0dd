// The shapes of Kubernetes' scheduler_perf suites, with their numbers of nodes and pods, and beside
// each the pods a second below which Kubernetes' own CI fails (its thresholds for 1.36).
//
// Measured: everything that Berth's scheduler does for a pod between decoding and sending, in one
// thread: describing it, the queue, the decision, the event that wakes others; for preempted pods
// their removal. Not measured: decoding JSON, writes to an API server. The stock floor includes
// those, on a server in the same process, so the ratio says how far deciding is from being the
// limit, not how much faster a cluster gets.
//
// Churn: stock adds a pod every 200 ms of real time. Here one comes after as many pods as the floor
// places in 200 ms, so that its share of the work is no smaller than in stock.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "berth/sched/decider.h"
#include "berth/sched/node_room.h"
#include "berth/sched/queue.h"
#include "berth/testing/scheduling_world.h"

namespace berth::sched {
namespace {

using test::PodBuilder;

constexpr std::string_view kZone = "topology.kubernetes.io/zone";
constexpr std::string_view kHostname = "kubernetes.io/hostname";

/// Of one of a suite's kinds of pods, by its number.
using PodKind = std::function<PodBuilder(std::int64_t)>;

struct Suite {
  std::string name;
  std::int64_t nodes = 5000;
  std::int64_t zones = 0; ///< labelled in turn; 0: no label
  PodKind init = {};
  std::int64_t init_pods = 0;
  std::vector<PodKind> measured = {}; ///< in turn
  std::int64_t pods = 0;
  double floor = 0; ///< pods/s
  PodKind churn = {};
  std::int64_t churn_every = 0; ///< measured pods
  bool churn_nodes = false;     ///< a node comes or goes with every churn
  bool own_resources = false;   ///< node i has foo.com/bar-i: 1
  std::int64_t namespaces = 0;  ///< init-ns-i, labelled team=devops; measured pods' ns is too
  bool one_example = true;      ///< pods of a kind differ in name and namespace alone
};

PodBuilder plain_pod(std::string_view name) {
  return test::pod(name).cpu("100m").memory("500Mi");
}
PodKind plain() {
  return [](std::int64_t) { return plain_pod("pod"); };
}
PodKind large_pod(std::string_view cpu, std::int64_t priority) {
  return [cpu = std::string(cpu), priority](std::int64_t) {
    return test::pod("large").cpu(cpu).memory("500Mi").priority(priority);
  };
}

std::string term(std::string_view color, std::string_view key, std::string_view namespaces) {
  return fmt::format(
      R"({{"labelSelector": {{"matchLabels": {{"color": "{}"}}}}, "topologyKey": "{}", {}}})",
      color, key, namespaces);
}
constexpr std::string_view kListed = R"("namespaces": ["sched-setup", "sched-test"])";
constexpr std::string_view kSelected =
    R"("namespaceSelector": {"matchLabels": {"team": "devops"}})";

enum class Wish { Required, Preferred };
/// A pod of the color with one term, `affinity` (podAffinity or podAntiAffinity), about its color.
PodKind colored(std::string_view color, std::string_view affinity, Wish wish, std::string_view key,
                std::string_view namespaces, std::string_view ns = "sched-test") {
  const std::string about = term(color, key, namespaces);
  const std::string json =
      wish == Wish::Required
          ? fmt::format(R"({{"{}": {{"requiredDuringSchedulingIgnoredDuringExecution": [{}]}}}})",
                        affinity, about)
          : fmt::format(R"({{"{}": {{"preferredDuringSchedulingIgnoredDuringExecution":
                         [{{"weight": 1, "podAffinityTerm": {}}}]}}}})",
                        affinity, about);
  const PodBuilder example =
      test::with_spec(plain_pod("pod").ns(ns).label("color", color), "affinity", json);
  return [example](std::int64_t) { return example; };
}

PodKind spread(std::string_view when) {
  const PodBuilder example = test::with_spec(
      plain_pod("pod").label("color", "blue"), "topologySpreadConstraints",
      fmt::format(R"([{{"maxSkew": 5, "topologyKey": "{}", "whenUnsatisfiable": "{}",
                        "labelSelector": {{"matchLabels": {{"color": "blue"}}}}}}])",
                  kZone, when));
  return [example](std::int64_t) { return example; };
}

/// As a DaemonSet's controller pins its pods.
PodBuilder pinned_pod(std::int64_t node) {
  return test::with_spec(
      plain_pod("pod"), "affinity",
      fmt::format(R"({{"nodeAffinity": {{"requiredDuringSchedulingIgnoredDuringExecution":
          {{"nodeSelectorTerms": [{{"matchFields": [
            {{"key": "metadata.name", "operator": "In", "values": ["node-{}"]}}]}}]}}}}}})",
                  node));
}

std::vector<Suite> suites() {
  constexpr std::string_view kAffinity = "podAffinity";
  constexpr std::string_view kAnti = "podAntiAffinity";
  const auto in_zone = [](std::int64_t) {
    return plain_pod("pod").requires_node(kZone, "In", {"zone-0", "zone-1"});
  };
  return {
      {.name = "SchedulingBasic",
       .init = plain(),
       .init_pods = 1000,
       .measured = {plain()},
       .pods = 10'000,
       .floor = 270},
      {.name = "SchedulingDaemonset",
       .nodes = 15'000,
       .measured = {[](std::int64_t i) { return pinned_pod(i % 15'000); }},
       .pods = 30'000,
       .floor = 390,
       .one_example = false},
      // Stock has no threshold here; SchedulingBasic's stands in.
      {.name = "SchedulingWithExtendedResource",
       .measured = {[](std::int64_t i) {
         return plain_pod("pod").extended(fmt::format("foo.com/bar-{}", i), "1");
       }},
       .pods = 5000,
       .floor = 270,
       .own_resources = true,
       .one_example = false},
      {.name = "Unschedulable",
       .init = plain(),
       .init_pods = 100,
       .measured = {plain()},
       .pods = 10'000,
       .floor = 170,
       .churn = large_pod("9", 10),
       .churn_every = 34},
      {.name = "PreemptionAsync",
       .init = large_pod("900m", 0),
       .init_pods = 20'000,
       .measured = {plain()},
       .pods = 5000,
       .floor = 160,
       .churn = large_pod("3", 10),
       .churn_every = 32},
      {.name = "SchedulingWithMixedChurn",
       .measured = {plain()},
       .pods = 10'000,
       .floor = 265,
       .churn = large_pod("9", 10),
       .churn_every = 265,
       .churn_nodes = true},
      {.name = "TopologySpreading",
       .zones = 3,
       .init = plain(),
       .init_pods = 5000,
       .measured = {spread("DoNotSchedule")},
       .pods = 5000,
       .floor = 85},
      {.name = "PreferredTopologySpreading",
       .zones = 3,
       .init = plain(),
       .init_pods = 5000,
       .measured = {spread("ScheduleAnyway")},
       .pods = 5000,
       .floor = 125},
      {.name = "SchedulingPodAffinity",
       .zones = 1,
       .init = colored("blue", kAffinity, Wish::Required, kZone, kListed, "sched-setup"),
       .init_pods = 5000,
       .measured = {colored("blue", kAffinity, Wish::Required, kZone, kListed)},
       .pods = 5000,
       .floor = 35},
      {.name = "SchedulingPodAntiAffinity",
       .init = colored("green", kAnti, Wish::Required, kHostname, kListed, "sched-setup"),
       .init_pods = 1000,
       .measured = {colored("green", kAnti, Wish::Required, kHostname, kListed)},
       .pods = 2000,
       .floor = 60},
      {.name = "SchedulingPreferredPodAffinity",
       .init = colored("red", kAffinity, Wish::Preferred, kHostname, kListed, "sched-setup"),
       .init_pods = 5000,
       .measured = {colored("red", kAffinity, Wish::Preferred, kHostname, kListed)},
       .pods = 5000,
       .floor = 90},
      {.name = "SchedulingPreferredPodAntiAffinity",
       .init = colored("yellow", kAnti, Wish::Preferred, kHostname, kListed, "sched-setup"),
       .init_pods = 5000,
       .measured = {colored("yellow", kAnti, Wish::Preferred, kHostname, kListed)},
       .pods = 5000,
       .floor = 90},
      {.name = "SchedulingNodeAffinity",
       .zones = 5,
       .init = in_zone,
       .init_pods = 5000,
       .measured = {in_zone},
       .pods = 10'000,
       .floor = 220},
      {.name = "MixedSchedulingBasePod",
       .zones = 1,
       .init = plain(),
       .init_pods = 10'000,
       .measured = {plain(), colored("blue", kAffinity, Wish::Required, kZone, kListed),
                    colored("green", kAnti, Wish::Required, kHostname, kListed),
                    colored("red", kAffinity, Wish::Preferred, kHostname, kListed),
                    colored("yellow", kAnti, Wish::Preferred, kHostname, kListed)},
       .pods = 5000,
       .floor = 140},
      {.name = "SchedulingRequiredPodAntiAffinityWithNSSelector",
       .nodes = 6000,
       .zones = 1,
       .init = colored("green", kAnti, Wish::Required, kHostname, kSelected),
       .init_pods = 4000,
       .measured = {colored("green", kAnti, Wish::Required, kHostname, kSelected)},
       .pods = 2000,
       .floor = 24,
       .namespaces = 100},
      {.name = "SchedulingPreferredAntiAffinityWithNSSelector",
       .nodes = 6000,
       .zones = 1,
       .init = colored("yellow", kAnti, Wish::Preferred, kHostname, kSelected),
       .init_pods = 4000,
       .measured = {colored("yellow", kAnti, Wish::Preferred, kHostname, kSelected)},
       .pods = 2000,
       .floor = 55,
       .namespaces = 100},
      {.name = "SchedulingRequiredPodAffinityWithNSSelector",
       .nodes = 6000,
       .zones = 1,
       .init = colored("blue", kAffinity, Wish::Required, kZone, kSelected),
       .init_pods = 5000,
       .measured = {colored("blue", kAffinity, Wish::Required, kZone, kSelected)},
       .pods = 2000,
       .floor = 35,
       .namespaces = 100},
      {.name = "SchedulingPreferredAffinityWithNSSelector",
       .zones = 1,
       .init = colored("red", kAffinity, Wish::Preferred, kHostname, kSelected),
       .init_pods = 5000,
       .measured = {colored("red", kAffinity, Wish::Preferred, kHostname, kSelected)},
       .pods = 5000,
       .floor = 90,
       .namespaces = 100},
  };
}

/// The scheduler's core, wired as the scheduler process wires it.
class Core {
 public:
  explicit Core(const Suite& suite) : suite_(&suite) {
    for (std::int64_t i = 0; i < suite.nodes; ++i) {
      world_.with(node(i));
    }
    for (std::int64_t i = 0; i < suite.namespaces; ++i) {
      world_.state().set_namespace(fmt::format("init-ns-{}", i), {{"team", "devops"}});
    }
    world_.state().set_namespace("sched-test", {{"team", "devops"}});
  }

  /// Decoded, not yet described.
  std::vector<std::shared_ptr<model::Pod>>
  make(std::string_view prefix, const std::vector<PodKind>& kinds, std::int64_t count) {
    std::vector<std::shared_ptr<const model::Pod>> examples;
    for (std::size_t k = 0; suite_->one_example && k < kinds.size(); ++k) {
      examples.push_back(kinds[k](0).build());
    }
    std::vector<std::shared_ptr<model::Pod>> pods;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::size_t kind = static_cast<std::size_t>(i) % kinds.size();
      auto pod = std::make_shared<model::Pod>(suite_->one_example ? *examples[kind]
                                                                  : *kinds[kind](i).build());
      pod->meta.name = fmt::format("{}-{}", prefix, i);
      pod->meta.uid = pod->meta.name;
      pods.push_back(std::move(pod));
    }
    return pods;
  }

  void fill() {
    if (!suite_->init) {
      return;
    }
    std::int64_t i = 0;
    for (auto& pod : make("init", {suite_->init}, suite_->init_pods)) {
      if (suite_->namespaces > 0) {
        pod->meta.ns = fmt::format("init-ns-{}", i++ % suite_->namespaces);
      }
      arrive(std::move(pod));
      work();
    }
  }
  void arrive(std::shared_ptr<const model::Pod> pod) {
    queue_.add(world_.state().describe(std::move(pod)), now_);
  }
  /// One pod and one node come, or those of the last call go.
  void churn(std::shared_ptr<const model::Pod> pod) {
    now_ = now_ + Duration::millis(200);
    if (suite_->churn_nodes) {
      world_.with(node(suite_->nodes));
      queue_.on_event(node_added(world_.state().node(*world_.state().find_node("churn")).node),
                      now_);
    }
    if (suite_->churn_nodes && !last_churn_.empty()) {
      queue_.remove(last_churn_);
      world_.state().remove_node("churn");
    }
    last_churn_ = pod->meta.uid;
    arrive(std::move(pod));
  }
  /// Decides whatever waits.
  void work() {
    queue_.flush(now_);
    queue_.offer_rest(now_);
    while (auto queued = queue_.pop(now_)) {
      settle(*std::move(queued));
      queue_.offer_rest(now_);
    }
  }
  std::int64_t placed() const { return placed_; }
  std::uint64_t quick() const { return decider_.quick_decisions(); }

 private:
  test::NodeBuilder node(std::int64_t i) const {
    const bool churn = i == suite_->nodes;
    auto node = test::node(churn ? "churn" : fmt::format("node-{}", i));
    node.cpu("4").memory("32Gi").pods(110);
    if (suite_->zones > 0) {
      node.label(kZone, fmt::format("zone-{}", i % suite_->zones));
    }
    if (suite_->own_resources) {
      node.resource(fmt::format("foo.com/bar-{}", i), "1");
    }
    return node;
  }

  void settle(QueuedPod queued) {
    const Decision decision = decider_.decide(queued.pod, {.now = now_});
    if (decision.placed()) {
      ++placed_;
      queue_.done(queued.pod->uid);
      queue_.on_event(assigned_pod_added(queued.pod), now_);
      return;
    }
    queue_.retry_later(queued,
                       {.unschedulable_plugins = decision.unschedulable_plugins,
                        .pending_plugins = decision.pending_plugins},
                       now_);
    for (const PodPtr& victim : decision.victims) {
      const NodeId node = world_.state().find_pod(victim->uid)->node;
      world_.state().remove_pod(victim->uid);
      queue_.on_event(assigned_pod_deleted(victim, node, world_.state()), now_);
    }
  }

  const Suite* suite_;
  test::SchedulingWorld world_;
  Decider decider_{world_.framework(), world_.state()};
  Queue queue_ = make_queue();
  TimePoint now_ = TimePoint::from_unix_seconds(0);
  std::string last_churn_;
  std::int64_t placed_ = 0;

  Queue make_queue() {
    QueuePolicy policy = queue_policy(world_.framework());
    policy.room = [this](NodeId node) { return room_on(world_.state(), node); };
    return {policy, {}};
  }
};

void run_suite(benchmark::State& bench, const Suite& suite) {
  Core core(suite);
  core.fill();
  const auto pods = core.make("pod", suite.measured, suite.pods);
  std::vector<std::shared_ptr<model::Pod>> churn;
  if (suite.churn) {
    churn = core.make("churn", {suite.churn}, suite.pods / suite.churn_every);
  }
  const std::int64_t before = core.placed();
  const std::uint64_t quick_before = core.quick();
  std::size_t next_churn = 0;
  for (auto _ : bench) {
    for (std::size_t i = 0; i < pods.size(); ++i) {
      core.arrive(pods[i]);
      if (next_churn < churn.size() &&
          static_cast<std::int64_t>(i) % suite.churn_every == suite.churn_every - 1) {
        core.churn(churn[next_churn++]);
      }
      core.work();
    }
  }
  if (core.placed() - before < suite.pods) {
    bench.SkipWithError("some pods were not placed");
    return;
  }
  using benchmark::Counter;
  const auto count = static_cast<double>(suite.pods);
  bench.counters["pods/s"] = Counter(count, Counter::kIsRate);
  bench.counters["floor"] = suite.floor;
  bench.counters["x_floor"] = Counter(count / suite.floor, Counter::kIsRate);
  bench.counters["quick_%"] =
      100 * static_cast<double>(core.quick() - quick_before) / static_cast<double>(suite.pods);
}

const bool kRegistered = [] {
  for (const Suite& suite : suites()) {
    benchmark::RegisterBenchmark(("scheduler_perf/" + suite.name).c_str(),
                                 [suite](benchmark::State& bench) { run_suite(bench, suite); })
        ->Iterations(1)
        ->Unit(benchmark::kMillisecond);
  }
  return true;
}();

} // namespace
} // namespace berth::sched
