// Random histories against a plain reference: every rule written out again, every node looked at
// from scratch, nothing kept between decisions. And the promise of the queue: whenever a pod could
// be placed and nothing is due, it is placed.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/rng.h"
#include "berth/model/requests.h"
#include "berth/sched/decider.h"
#include "berth/sched/message.h"
#include "berth/sched/queue.h"
#include "berth/testing/scheduling_world.h"
#include "berth/testing/seeds.h"

namespace berth::sched {
namespace {

using test::node;
using test::pod;
using test::SchedulingWorld;

std::int64_t asked(const model::ResourceList& list, std::string_view name) {
  const auto it = list.find(name);
  return it == list.end() ? 0 : amount_of(name, it->second);
}

/// The cluster as a list of objects.
struct PlainNode {
  std::shared_ptr<const model::Node> node;
  std::vector<std::shared_ptr<const model::Pod>> pods;

  std::int64_t requested(std::string_view resource) const {
    std::int64_t sum = 0;
    for (const auto& p : pods) {
      sum += asked(model::effective_requests(p->spec), resource);
    }
    return sum;
  }
  std::int64_t scored(std::string_view resource) const {
    std::int64_t sum = 0;
    for (const auto& p : pods) {
      sum += asked(model::nonzero_requests(p->spec), resource);
    }
    return sum;
  }
};

/// Reasons the pod does not fit, of the first rule that fails; empty: it fits.
std::vector<std::string> plain_reasons(const model::Pod& p, const PlainNode& plain) {
  const model::Node& n = *plain.node;
  if (n.unschedulable &&
      !model::tolerates(p.spec.tolerations,
                        {.key = "node.kubernetes.io/unschedulable", .effect = "NoSchedule"})) {
    return {"node(s) were unschedulable"};
  }
  for (const auto& taint : n.taints) {
    if (taint.effect != "PreferNoSchedule" && !model::tolerates(p.spec.tolerations, taint)) {
      return {"node(s) had untolerated taint(s)"};
    }
  }
  bool selected = !p.spec.node_affinity || !p.spec.node_affinity->required ||
                  p.spec.node_affinity->required->matches(n.meta.labels, n.name());
  for (const auto& [key, value] : p.spec.node_selector) {
    selected = selected && n.meta.labels.contains(key) && n.meta.labels.at(key) == value;
  }
  if (!selected) {
    return {"node(s) didn't match Pod's node affinity/selector"};
  }
  for (const auto& wanted : p.spec.containers[0].ports) {
    for (const auto& other : plain.pods) {
      for (const auto& used : other->spec.containers[0].ports) {
        if (used.host_port == wanted.host_port) {
          return {"node(s) didn't have free ports for the requested pod ports"};
        }
      }
    }
  }
  std::vector<std::string> reasons;
  if (static_cast<std::int64_t>(plain.pods.size()) + 1 > n.allocatable.at("pods").value()) {
    reasons.emplace_back("Too many pods");
  }
  for (const auto& [name, quantity] : model::effective_requests(p.spec)) {
    const std::int64_t amount = amount_of(name, quantity);
    if (amount > 0 && amount > asked(n.allocatable, name) - plain.requested(name)) {
      reasons.push_back("Insufficient " + name);
    }
  }
  return reasons;
}

std::int64_t plain_least_allocated(const model::Pod& p, const PlainNode& plain) {
  std::int64_t sum = 0;
  for (const char* name : {"cpu", "memory"}) {
    const std::int64_t capacity = asked(plain.node->allocatable, name);
    const std::int64_t used = plain.scored(name) + asked(model::nonzero_requests(p.spec), name);
    sum += used > capacity ? 0 : (capacity - used) * 100 / capacity;
  }
  return sum / 2;
}

std::int64_t plain_balance(const model::Pod& p, const PlainNode& plain, int pods) {
  double share[2] = {0, 0};
  int i = 0;
  for (const char* name : {"cpu", "memory"}) {
    const auto capacity = static_cast<double>(asked(plain.node->allocatable, name));
    const auto used = static_cast<double>(plain.requested(name) +
                                          pods * asked(model::effective_requests(p.spec), name));
    share[i++] = std::min(1.0, used / capacity);
  }
  return static_cast<std::int64_t>((1 - std::abs((share[0] - share[1]) / 2)) * 100);
}

/// Total by node of the feasible ones, as the default profile of 1.36 would.
std::map<std::string, std::int64_t> plain_totals(const model::Pod& p,
                                                 const std::map<std::string, PlainNode>& cluster) {
  std::map<std::string, std::int64_t> soft;
  std::int64_t most = 0;
  std::map<std::string, std::int64_t> totals;
  for (const auto& [name, plain] : cluster) {
    if (plain_reasons(p, plain).empty()) {
      totals[name] = plain_least_allocated(p, plain);
      const auto requests = model::effective_requests(p.spec);
      if (asked(requests, "cpu") > 0 || asked(requests, "memory") > 0) {
        totals[name] += 50 + (50 + plain_balance(p, plain, 1) - plain_balance(p, plain, 0)) / 2;
      }
      for (const auto& taint : plain.node->taints) {
        soft[name] +=
            taint.effect == "PreferNoSchedule" && !model::tolerates(p.spec.tolerations, taint) ? 1
                                                                                               : 0;
      }
      most = std::max(most, soft[name]);
    }
  }
  for (auto& [name, total] : totals) {
    total += 3 * (100 - (most == 0 ? 0 : soft[name] * 100 / most));
  }
  return totals;
}

std::string plain_message(const model::Pod& p, const std::map<std::string, PlainNode>& cluster) {
  ReasonHistogram histogram;
  for (const auto& [name, plain] : cluster) {
    for (auto& reason : plain_reasons(p, plain)) {
      ++histogram[reason];
    }
  }
  return failed_scheduling_message(static_cast<std::int64_t>(cluster.size()), "", histogram, "");
}

/// Random objects of few kinds, so that they meet.
class Generator {
 public:
  explicit Generator(std::uint64_t seed) : rng(seed) {}

  test::NodeBuilder random_node(const std::string& name) {
    auto made = node(name)
                    .cpu(std::to_string(4 + rng.below(3) * 8))
                    .memory(std::to_string(16 + rng.below(3) * 16) + "Gi");
    made.gpus(static_cast<int>(rng.below(3)) * 4).pods(static_cast<int>(2 + rng.below(8)));
    made.label("zone", rng.chance(1, 2) ? "a" : "b");
    if (rng.chance(1, 6)) {
      made.unschedulable();
    }
    if (rng.chance(1, 4)) {
      made.taint("team", "NoSchedule", rng.chance(1, 2) ? "x" : "y");
    }
    if (rng.chance(1, 4)) {
      made.taint("old", "PreferNoSchedule");
    }
    return made;
  }

  test::PodBuilder random_pod(const std::string& name) {
    auto made = pod(name);
    if (rng.chance(3, 4)) {
      made.cpu(std::to_string(rng.below(5)));
    }
    if (rng.chance(3, 4)) {
      made.memory(std::to_string(1 + rng.below(12)) + "Gi");
    }
    if (rng.chance(1, 2)) {
      made.gpus(static_cast<int>(1 + rng.below(8)));
    }
    if (rng.chance(1, 5)) {
      made.host_port(static_cast<int>(9000 + rng.below(2)));
    }
    if (rng.chance(1, 5)) {
      made.node_selector("zone", rng.chance(1, 2) ? "a" : "b");
    }
    if (rng.chance(1, 6)) {
      made.requires_node("zone", rng.chance(1, 2) ? "In" : "NotIn", {rng.chance(1, 2) ? "a" : "c"});
    }
    if (rng.chance(1, 3)) {
      made.tolerates("team");
    }
    if (rng.chance(1, 8)) {
      made.tolerates_everything();
    }
    return made;
  }

  Rng rng;
};

class AgainstReference : public testing::TestWithParam<std::uint64_t> {};

TEST_P(AgainstReference, EveryDecisionOfARandomHistoryAgrees) {
  Generator make(GetParam());
  SchedulingWorld world;
  std::map<std::string, PlainNode> cluster;
  std::vector<std::string> placed;
  for (int step = 0; step < 150; ++step) {
    if (cluster.empty() || make.rng.chance(1, 5)) {
      const std::string name = fmt::format("n{}", make.rng.below(10));
      const auto object = make.random_node(name).build();
      cluster[name].node = object;
      world.state().set_node(object);
    }
    if (!placed.empty() && make.rng.chance(1, 3)) {
      const std::string gone = placed[make.rng.below(placed.size())];
      std::erase(placed, gone);
      world.state().remove_pod("default/" + gone);
      for (auto& [name, plain] : cluster) {
        std::erase_if(plain.pods, [&](const auto& p) { return p->meta.name == gone; });
      }
    }
    const std::string name = fmt::format("p{}", step);
    const auto object = make.random_pod(name).build();
    const auto totals = plain_totals(*object, cluster);
    const PodPtr described = world.state().describe(object);
    const Decision decision =
        schedule_one(world.framework(), world.state(), described,
                     {.explain = Explain::Table, .post_filter = PostFilters::Skip});
    ASSERT_EQ(decision.placed(), !totals.empty()) << "step " << step << ": " << decision.message;
    if (totals.empty()) {
      ASSERT_EQ(decision.message, plain_message(*object, cluster)) << "step " << step;
      continue;
    }
    std::map<std::string, std::int64_t> ours;
    for (const auto& row : decision.table->rows) {
      if (row.status.ok()) {
        ours[world.state().node_name(row.node)] = row.total;
      }
    }
    const auto best =
        std::ranges::max_element(totals, {}, [](const auto& entry) { return entry.second; });
    if (totals.size() > 1) {
      ASSERT_EQ(ours, totals) << "step " << step;
    }
    ASSERT_EQ(totals.at(decision.node_name), best->second) << "step " << step;
    cluster[decision.node_name].pods.push_back(object);
    placed.push_back(name);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, AgainstReference, test::seeds(30));

/// Decides whatever the queue gives until it gives no more, as the scheduler process does.
void drain(Decider& decider, Queue& queue, std::vector<std::string>& placed, TimePoint now) {
  queue.flush(now);
  queue.offer_rest(now);
  while (auto queued = queue.pop(now)) {
    const Decision decision = decider.decide(queued->pod, {.post_filter = PostFilters::Skip});
    if (decision.placed()) {
      placed.push_back(queued->pod->uid);
      queue.done(queued->pod->uid);
      queue.on_event(assigned_pod_added(queued->pod), now);
    } else {
      queue.retry_later(*queued, {.unschedulable_plugins = decision.unschedulable_plugins}, now);
    }
    queue.offer_rest(now);
  }
}

class NeverForgets : public testing::TestWithParam<std::uint64_t> {};

TEST_P(NeverForgets, APodThatCouldBePlacedIsPlaced) {
  Generator make(GetParam() + 1000);
  SchedulingWorld world;
  // Leftovers are never flushed: only hints wake pods.
  QueuePolicy policy = queue_policy(world.framework());
  policy.room = [&](NodeId node) { return room_on(world.state(), node); };
  Queue queue(policy, {.max_in_unschedulable = Duration::max()});
  Decider decider(world.framework(), world.state());
  std::map<std::string, std::shared_ptr<const model::Node>> nodes;
  std::vector<std::string> placed;
  for (int step = 0; step < 150; ++step) {
    const TimePoint now = TimePoint::from_unix_seconds(step);
    if (make.rng.chance(1, 3)) {
      const std::string name = fmt::format("n{}", make.rng.below(6));
      const auto before = nodes[name];
      const auto after = make.random_node(name).build();
      nodes[name] = after;
      world.state().set_node(after);
      queue.on_event(before ? node_updated(before, after) : node_added(after), now);
    }
    if (!placed.empty() && make.rng.chance(1, 3)) {
      const std::string uid = placed[make.rng.below(placed.size())];
      std::erase(placed, uid);
      const PlacedPod gone = *world.state().find_pod(uid);
      world.state().remove_pod(uid);
      queue.on_event(assigned_pod_deleted(gone.pod, gone.node, world.state()), now);
    }
    auto builder = make.random_pod(fmt::format("p{}", step));
    builder.label("app", make.rng.chance(1, 2) ? "x" : "y");
    if (make.rng.chance(1, 8)) {
      builder =
          with_spec(builder, "topologySpreadConstraints",
                    R"([{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
                               "labelSelector": {"matchLabels": {"app": "x"}}}])");
    }
    if (make.rng.chance(1, 8)) {
      builder =
          with_spec(pod(fmt::format("p{}", step)).label("app", "y").cpu("1"), "affinity",
                    fmt::format(R"({{"{}": {{"requiredDuringSchedulingIgnoredDuringExecution": [
                              {{"topologyKey": "kubernetes.io/hostname",
                                "labelSelector": {{"matchLabels": {{"app": "x"}}}}}}]}}}})",
                                make.rng.chance(1, 2) ? "podAffinity" : "podAntiAffinity"));
    }
    queue.add(world.describe(builder), now);
    drain(decider, queue, placed, now);
    for (const std::string& uid : queue.waiting()) {
      const PodPtr waiting = queue.find(uid)->pod;
      const Decision could = schedule_one(world.framework(), world.state(), waiting,
                                          {.post_filter = PostFilters::Skip});
      ASSERT_FALSE(could.placed())
          << "step " << step << ": " << uid << " sleeps but would fit " << could.node_name
          << "; it was rejected by "
          << testing::PrintToString(queue.find(uid)->unschedulable_plugins);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, NeverForgets, test::seeds(30));

} // namespace
} // namespace berth::sched
