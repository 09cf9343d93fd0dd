// Random histories with groups: nodes come, change and go, lone pods are placed, preempt and leave,
// groups come, fit or not, lose members half-way and are filled up again. Everything is decided
// twice: by a Decider and place_group that live through all of it, and by full scheduling cycles on
// a state that never saw a trial.
#include <map>
#include <optional>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/rng.h"
#include "berth/gang/every_placement_fixture.h"
#include "berth/gang/gang_plugin.h"
#include "berth/testing/scheduling_world.h"
#include "berth/testing/seeds.h"

namespace berth::gang {
namespace {

using sched::Decision;

constexpr std::string_view kRack = "berth.dev/rack";
constexpr std::string_view kBlock = "berth.dev/block";

sched::Framework make_framework(const std::shared_ptr<Groups>& groups) {
  sched::Registry registry = sched::builtin_plugins();
  EXPECT_TRUE(registry.add(kGangPlugin, gang_plugin(groups)));
  sched::Profile profile = sched::default_profile();
  profile.plugins.insert(profile.plugins.begin(), {.name = std::string(kGangPlugin)});
  profile.plugins.push_back({.name = "GpuTopology"});
  auto made = sched::Framework::make(profile, registry);
  EXPECT_TRUE(made);
  return *std::move(made);
}

struct World {
  explicit World(const std::shared_ptr<Groups>& groups) : framework(make_framework(groups)) {}

  sched::Framework framework;
  sched::ClusterState state;
};

/// Who holds what, without how the state keeps it.
std::string picture(const sched::ClusterState& state) {
  std::string text;
  for (const sched::NodeId id : state.nodes()) {
    const sched::NodeInfo& node = state.node(id);
    text += fmt::format("{} ({}): cpu {} of {} gpus {} of {} held {:x} bad {:x} nominated {}",
                        node.name(), id.index(), node.requested.get(sched::kCpu),
                        node.allocatable.get(sched::kCpu), node.requested.get(sched::kGpu),
                        node.allocatable.get(sched::kGpu), node.gpus.held, node.gpus.unhealthy,
                        node.nominated);
    for (const auto& [key, value] : node.labels()) {
      text += fmt::format(" {}={}", key, value);
    }
    text += "\n";
  }
  for (const sched::PlacedPod* placed : state.placed_pods()) {
    text += fmt::format("{} on {} with {:x}{}\n", placed->pod->uid, state.node_name(placed->node),
                        placed->gpus, placed->assumed ? " assumed" : "");
  }
  return text;
}

std::string text_of(const Decision& decision) {
  std::string text =
      fmt::format("{} {} gpus {:x} message {} plugins {} nominated {}",
                  static_cast<int>(decision.outcome), decision.node_name, decision.gpus,
                  decision.message, testing::PrintToString(decision.unschedulable_plugins),
                  decision.nominated_node.value_or("-"));
  for (const sched::PodPtr& victim : decision.victims) {
    text += " " + victim->uid;
  }
  return text;
}

std::string text_of_group(const GroupRequest& request) {
  std::string text;
  for (const sched::PodPtr& pod : request.pending) {
    text += fmt::format("{}: cpu {} gpus {} selects {} affinity {} {}\n", pod->name(),
                        pod->request(sched::kCpu), pod->gpus, pod->pod->spec.node_selector.size(),
                        pod->has_affinity(), testing::PrintToString(pod->pod->meta.annotations));
  }
  for (const sched::NodeId node : request.placed_on) {
    text += fmt::format("with one on node number {}\n", node.index());
  }
  return text;
}

class GangHistory : public testing::TestWithParam<std::uint64_t> {
 protected:
  /// A group whose members may have places, all, some or none of them.
  struct Gang {
    GroupRequest request;             ///< key and min_member
    std::vector<std::string> waiting; ///< names
    int named = 0;
  };

  GangHistory()
      : groups(std::make_shared<Groups>()), lived(groups), plain(groups),
        decider(lived.framework, lived.state) {}

  void set_node() {
    const std::string name = fmt::format("n{}", rng.below(7));
    auto builder = test::node(name);
    builder.cpu(fmt::to_string(rng.between(2, 9))).memory("64Gi").pods(8);
    builder.label("kubernetes.io/hostname", name);
    builder.label("pool", rng.chance(1, 3) ? "b" : "a");
    if (rng.chance(1, 2)) {
      builder.platform("dgx-h100").gpus(8);
      if (rng.chance(1, 6)) {
        builder.annotation("berth.dev/unhealthy-gpus", fmt::to_string(rng.below(8)));
      }
    } else {
      builder.gpus(static_cast<int>(rng.below(3)) * 4);
    }
    if (labelled && rng.chance(5, 6)) {
      builder.label(kRack, fmt::format("r{}", rng.below(3)));
    }
    if (labelled && rng.chance(3, 4)) {
      builder.label(kBlock, fmt::format("b{}", rng.below(2)));
    }
    if (rng.chance(1, 8)) {
      builder.taint("team", "NoSchedule", "x");
    }
    if (rng.chance(1, 12)) {
      builder.unschedulable();
    }
    const auto object = builder.build();
    lived.state.set_node(object);
    plain.state.set_node(object);
  }

  /// The pod as both know it; the first is the decider's.
  std::pair<sched::PodPtr, sched::PodPtr> describe(const std::string& name) {
    const auto object = pods.at(name).build();
    return {lived.state.describe(object), plain.state.describe(object)};
  }

  void remove_pod(const std::string& name) {
    const auto [pod, twin] = describe(name);
    lived.state.remove_pod(pod->uid);
    plain.state.remove_pod(pod->uid);
    groups->remove_pod(*pod);
    for (auto& [key, gang] : gangs) {
      std::erase(gang.waiting, name);
    }
    places.erase(name);
    pods.erase(name);
  }

  std::string any_placed() {
    return std::next(places.begin(), static_cast<std::ptrdiff_t>(rng.below(places.size())))->first;
  }

  /// The kubelet's side of things: bindings are seen, pods end.
  void change_pods() {
    if (!places.empty() && rng.chance(1, 2)) {
      remove_pod(any_placed());
    }
    if (!places.empty() && rng.chance(1, 2)) {
      const std::string name = any_placed();
      pods.at(name).on_node(places.at(name));
      const auto [pod, twin] = describe(name);
      lived.state.set_pod(pod);
      plain.state.set_pod(twin);
      groups->set_pod(pod);
    }
  }

  void keep(const std::string& name, const Decision& decision) {
    if (decision.placed()) {
      places[name] = decision.node_name;
    }
  }

  void decide_lone_pod(const std::string& name) {
    auto builder = test::pod(name).uid(name).cpu(fmt::to_string(rng.between(1, 3)));
    constexpr int kGpus[] = {0, 1, 2, 4, 8};
    if (const int gpus = kGpus[rng.below(5)]; gpus > 0) {
      builder.gpus(gpus);
    }
    if (rng.chance(1, 3)) {
      builder.priority(static_cast<std::int64_t>(rng.below(3)));
    }
    builder.label("app", rng.chance(1, 2) ? "worker" : "other");
    pods.insert_or_assign(name, builder);
    const auto [pod, twin] = describe(name);
    const Decision decision = decider.decide(pod);
    ASSERT_EQ(text_of(decision), text_of(schedule_one(plain.framework, plain.state, twin)));
    keep(name, decision);
    for (const sched::PodPtr& victim : decision.victims) {
      remove_pod(victim->name());
    }
    if (decision.nominated_node) { // it does not come again
      lived.state.clear_nomination(pod->uid);
      plain.state.clear_nomination(pod->uid);
    }
  }

  /// A new member of one of the group's kinds.
  void add_member(Gang& gang, const test::PodBuilder& kind) {
    const std::string name = fmt::format("{}-{}", gang.request.key.name, gang.named++);
    auto builder = kind;
    builder.edit([&](boost::json::object& document) {
      auto& meta = api::object_at(document, "metadata");
      meta["name"] = test::text(name);
      meta["uid"] = test::text(name);
    });
    pods.insert_or_assign(name, builder);
    groups->set_pod(describe(name).first);
    gang.waiting.push_back(name);
  }

  void add_gang(const std::string& name) {
    Gang gang;
    gang.request.key = {.ns = "default", .name = name};
    const std::int64_t kinds = rng.between(1, 3);
    const bool required = rng.chance(1, 4);
    std::int64_t members = 0;
    for (std::int64_t kind = 0; kind < kinds; ++kind) {
      auto builder = test::pod("template").in_group(name).cpu(fmt::to_string(rng.between(1, 3)));
      builder.label("app", kind == 0 ? "worker" : "other");
      constexpr int kGpus[] = {0, 2, 4, 8, 8, 16}; // the last never fits
      if (const int gpus = kGpus[rng.below(rng.chance(1, 6) ? 6 : 5)]; gpus > 0) {
        builder.gpus(gpus);
      }
      if (rng.chance(1, 5)) {
        builder.node_selector("pool", "a");
      }
      if (required) {
        builder.annotation(kRequiredTopology, kRack);
      } else if (rng.chance(1, 6)) {
        builder.annotation(kPreferredTopology, "pool");
      }
      if (rng.chance(1, 8)) {
        builder = test::with_spec(builder, "affinity", R"({"podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey":
            "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "worker"}}}]}})");
      }
      for (std::int64_t i = rng.between(1, kinds == 1 ? 7 : 2); i > 0; --i) {
        add_member(gang, builder);
        ++members;
      }
    }
    gang.request.min_member = rng.chance(2, 3) ? members : rng.between(1, members);
    groups->set_group(test::pod_group(name, gang.request.min_member).build());
    gangs.insert_or_assign(name, std::move(gang));
  }

  /// Members that ended come again under new names, as a Job's would.
  void fill_up(Gang& gang) {
    const std::string prefix = gang.request.key.name + "-";
    const auto sibling = std::ranges::find_if(
        pods, [&](const auto& entry) { return entry.first.starts_with(prefix); });
    while (sibling != pods.end() &&
           groups->member_count(gang.request.key) < gang.request.min_member) {
      auto builder = sibling->second;
      builder.edit([](boost::json::object& document) {
        api::object_at(document, "spec").erase("nodeName");
      });
      add_member(gang, builder);
    }
  }

  void remove_gang(const std::string& name) {
    std::vector<std::string> members;
    for (const auto& [pod, builder] : pods) {
      if (pod.starts_with(name + "-")) {
        members.push_back(pod);
      }
    }
    std::ranges::for_each(members, [&](const std::string& member) { remove_pod(member); });
    groups->remove_group({.ns = "default", .name = name});
    gangs.erase(name);
  }

  /// Members of one shape that fit, each node for itself, by trying.
  std::int64_t slots(const std::vector<sched::PodPtr>& members) {
    std::int64_t found = 0;
    for (const sched::NodeId node : plain.state.nodes()) {
      std::vector<sched::PodPtr> there;
      for (const sched::PodPtr& member : members) {
        if (!cycle(member, node).placed()) {
          break;
        }
        there.push_back(member);
      }
      found += std::ssize(there);
      for (; !there.empty(); there.pop_back()) {
        undo_decision(plain.framework, plain.state, there.back(), node);
      }
    }
    return found;
  }

  Decision cycle(const sched::PodPtr& pod, std::optional<sched::NodeId> only = {}) {
    sched::CycleOptions options{.post_filter = sched::PostFilters::Skip};
    if (only) {
      options.only = std::span<const sched::NodeId>(&*only, 1);
    }
    return schedule_one(plain.framework, plain.state, pod, options);
  }

  void decide_gang(Gang& gang) {
    GroupRequest request = gang.request;
    GroupRequest twins = gang.request;
    std::map<std::string, sched::PodPtr> by_name;
    for (const std::string& name : gang.waiting) {
      const auto [pod, twin] = describe(name);
      request.pending.push_back(pod);
      twins.pending.push_back(twin);
      by_name.emplace(name, twin);
    }
    request.already_placed = groups->placed_count(request.key, lived.state);
    for (const Groups::Member& member : groups->members(request.key)) {
      if (const auto* placed = lived.state.find_pod(member.pod->uid)) {
        request.placed_on.push_back(placed->node);
        twins.placed_on.push_back(plain.state.find_pod(member.pod->uid)->node); // perhaps one gone
      }
    }
    const std::int64_t needed =
        std::max<std::int64_t>(1, request.min_member - request.already_placed);
    const GroupTopology topology = topology_for(plain.state, twins.pending);
    const bool alike = of_one_shape(twins.pending);
    const bool countable = alike && topology.required_key.empty() &&
                           !twins.pending.front()->has_affinity() &&
                           plain.state.affinity_terms().present().empty();
    std::optional<EveryPlacement> every;
    if (!countable && twins.pending.size() <= 5) {
      every.emplace(plain.framework, plain.state, twins);
    }
    SCOPED_TRACE(
        fmt::format("{}\nminMember {}\n{}", text_of_group(twins), needed, picture(plain.state)));
    const std::int64_t fitting = countable ? slots(twins.pending) : 0;
    const GroupDecision decision = place_group(decider, request);
    (decision.placed ? came : refused) += 1;
    ASSERT_EQ(decision.members.size(), request.pending.size());
    ASSERT_TRUE(decision.proven);
    if (countable) {
      ASSERT_EQ(decision.placed, fitting >= needed) << decision.members.back().decision.message;
    } else if (every) {
      ASSERT_EQ(decision.placed, every->most() >= needed)
          << decision.members.back().decision.message;
    }
    std::vector<sched::NodeId> nodes = twins.placed_on;
    for (const MemberDecision& member : decision.members) {
      const std::string& name = member.pod->name();
      if (member.decision.placed()) {
        ASSERT_TRUE(decision.placed) << "nothing is held by a part of a group";
        const Decision again =
            cycle(by_name.at(name), *plain.state.find_node(member.decision.node_name));
        ASSERT_EQ(again.node_name, member.decision.node_name) << name << ": " << again.message;
        ASSERT_EQ(again.gpus, member.decision.gpus) << name;
        ASSERT_EQ(again.annotations, member.decision.annotations) << name;
        nodes.push_back(again.node);
        keep(name, member.decision);
        std::erase(gang.waiting, name);
      } else {
        ASSERT_FALSE(member.decision.message.empty());
      }
    }
    ASSERT_EQ(picture(lived.state), picture(plain.state));
    if (decision.placed) {
      ASSERT_GE(std::ssize(nodes) - std::ssize(twins.placed_on), needed);
      for (const std::string& name : gang.waiting) { // who stays behind fits nowhere
        ASSERT_TRUE(!topology.required_key.empty() || !cycle(by_name.at(name)).placed()) << name;
      }
    }
    if (decision.placed && every && every->least()) {
      ASSERT_TRUE(gang.waiting.empty());
      ASSERT_EQ(every->spread_of(nodes), *every->least());
    }
  }

  void step(int number) {
    if (number < 6 || rng.chance(1, 6)) {
      set_node();
    }
    if (rng.chance(1, 40)) {
      const std::string gone = fmt::format("n{}", rng.below(7));
      lived.state.remove_node(gone);
      plain.state.remove_node(gone);
    }
    change_pods();
    if (rng.chance(1, 2)) {
      decide_lone_pod(fmt::format("lone{}", number));
    }
    if (rng.chance(1, 3)) {
      add_gang(fmt::format("g{}", number));
    }
    std::vector<std::string> names;
    for (auto& [name, gang] : gangs) {
      names.push_back(name);
    }
    for (const std::string& name : names) {
      if (rng.chance(1, gangs.size() > 3 ? 3 : 12)) {
        remove_gang(name);
        continue;
      }
      Gang& gang = gangs.at(name);
      fill_up(gang);
      if (!gang.waiting.empty() && rng.chance(1, 2) &&
          groups->member_count(gang.request.key) >= gang.request.min_member) {
        ASSERT_NO_FATAL_FAILURE(decide_gang(gang)) << name;
      }
    }
  }

  Rng rng{GetParam()};
  bool labelled = GetParam() % 3 != 0;
  std::shared_ptr<Groups> groups;
  World lived;
  World plain;
  sched::Decider decider;
  std::map<std::string, Gang> gangs;
  std::map<std::string, test::PodBuilder> pods; ///< all there are
  std::map<std::string, std::string> places;    ///< node of those placed
  int came = 0;                                 ///< groups placed
  int refused = 0;
};

TEST_P(GangHistory, AgreesWithFullCycles) {
  for (int number = 0; number < 80; ++number) {
    SCOPED_TRACE(fmt::format("seed {} step {}", GetParam(), number));
    step(number);
    if (HasFailure()) {
      return;
    }
  }
  EXPECT_GT(came, 0);
  EXPECT_GT(refused, 0);
}

INSTANTIATE_TEST_SUITE_P(Seeds, GangHistory, test::seeds(20));

} // namespace
} // namespace berth::gang
