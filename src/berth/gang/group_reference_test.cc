// Groups of several shapes against every placement there is, on small clusters.
#include <map>

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

using test::node;
using test::pod;
using test::with_spec;

constexpr std::string_view kRack = "berth.dev/rack";
constexpr std::string_view kBlock = "berth.dev/block";

/// A random cluster and a random group for it.
class RandomCase {
 public:
  explicit RandomCase(std::uint64_t seed) : rng(seed), groups(std::make_shared<Groups>()) {
    sched::Registry registry = sched::builtin_plugins();
    EXPECT_TRUE(registry.add(kGangPlugin, gang_plugin(groups)));
    sched::Profile profile = sched::default_profile();
    profile.plugins.insert(profile.plugins.begin(), {.name = std::string(kGangPlugin)});
    if (rng.chance(1, 2)) {
      profile.plugins.push_back({.name = "GpuTopology"});
    }
    auto made = sched::Framework::make(profile, registry);
    EXPECT_TRUE(made);
    framework = std::make_unique<sched::Framework>(*std::move(made));
    add_nodes();
    add_group();
  }

  /// For whoever reads a failure.
  std::string text() const {
    std::string text = fmt::format("minMember {}\n", request.min_member);
    for (const sched::NodeId id : state.nodes()) {
      const sched::NodeInfo& info = state.node(id);
      text += fmt::format("{}: cpu {} of {}, gpu {} of {}, platform {}", info.name(),
                          info.requested.get(sched::kCpu), info.allocatable.get(sched::kCpu),
                          info.requested.get(sched::kGpu), info.allocatable.get(sched::kGpu),
                          info.platform != nullptr);
      for (const auto& [key, value] : info.labels()) {
        text += fmt::format(" {}={}", key, value);
      }
      text += '\n';
    }
    for (const sched::PodPtr& pod : request.pending) {
      const auto& labels = pod->pod->meta.labels;
      text += fmt::format("{} app={}: cpu {} gpu {} selects {} required {}{}\n", pod->name(),
                          labels.find("app")->second, pod->request(sched::kCpu), pod->gpus,
                          pod->pod->spec.node_selector.size(),
                          pod->pod->meta.annotations.contains(std::string(kRequiredTopology)),
                          rules_text(pod->pod->spec));
    }
    return text;
  }

  Rng rng;
  std::shared_ptr<Groups> groups;
  sched::ClusterState state;
  std::unique_ptr<sched::Framework> framework;
  GroupRequest request;

 private:
  static std::string rules_text(const model::PodSpec& spec) {
    std::string text;
    for (const auto* affinity : {&spec.pod_affinity, &spec.pod_anti_affinity}) {
      for (std::size_t i = 0; *affinity && i < (*affinity)->required.size(); ++i) {
        const auto& term = (*affinity)->required[i];
        text += fmt::format(" {} {} by {}", affinity == &spec.pod_affinity ? "with" : "apart from",
                            to_string(*term.label_selector), term.topology_key);
      }
    }
    return text;
  }

  void add_nodes() {
    const bool by_index = rng.chance(1, 3);
    const bool labelled = rng.chance(3, 4);
    const std::int64_t nodes = rng.between(2, 5);
    for (std::int64_t i = 0; i < nodes; ++i) {
      auto builder = node(fmt::format("n{}", i)).cpu(std::to_string(rng.between(2, 6)));
      builder.label("kubernetes.io/hostname", fmt::format("n{}", i));
      builder.label("pool", rng.chance(1, 3) ? "b" : "a");
      builder.gpus(by_index ? 8 : static_cast<int>(rng.below(3) * 4));
      if (by_index) {
        builder.platform("dgx-h100");
      }
      if (labelled && rng.chance(5, 6)) {
        builder.label(kRack, fmt::format("r{}", rng.below(3)));
      }
      if (labelled && rng.chance(2, 3)) {
        builder.label(kBlock, fmt::format("b{}", rng.below(2)));
      }
      state.set_node(builder.build());
      if (rng.chance(1, 3)) {
        const auto filler = pod(fmt::format("filler-{}", i))
                                .cpu("1")
                                .gpus(static_cast<int>(rng.between(1, 4)))
                                .label("app", rng.chance(1, 2) ? "worker" : "other")
                                .on_node(fmt::format("n{}", i));
        state.set_pod(state.describe(filler.build()));
      }
    }
  }

  test::PodBuilder member(int kind, std::int64_t number, const std::vector<std::string>& rules) {
    auto builder =
        pod(fmt::format("m-{}-{}", kind, number)).uid(fmt::format("m-{}-{}", kind, number));
    builder.in_group("g").label("app", kind == 0 ? "worker" : fmt::format("kind-{}", kind));
    if (!rules.empty()) {
      builder = with_spec(builder, "affinity", rules[0]);
    }
    return builder;
  }

  void add_group() {
    request.key = {.ns = "default", .name = "g"};
    const int kinds = static_cast<int>(rng.between(1, 3));
    std::int64_t room = 5;
    const bool required = rng.chance(1, 5);
    for (int kind = 0; kind < kinds; ++kind) {
      const std::int64_t count =
          rng.between(1, std::max<std::int64_t>(1, room - (kinds - kind - 1)));
      room -= count;
      const int gpus = static_cast<int>(rng.below(5)) * 2;
      const std::string cpu = std::to_string(rng.between(1, 3));
      const bool selects = rng.chance(1, 4);
      std::vector<std::string> rules;
      if (rng.chance(1, 4)) {
        rules.push_back(fmt::format(
            R"({{"{}": {{"requiredDuringSchedulingIgnoredDuringExecution": [
               {{"topologyKey": "{}", "labelSelector": {{"matchLabels": {{"app": "{}"}}}}}}]}}}})",
            rng.chance(2, 3) ? "podAntiAffinity" : "podAffinity",
            rng.chance(1, 2) ? "kubernetes.io/hostname" : kRack,
            rng.chance(2, 3) ? "worker" : "kind-1"));
      }
      for (std::int64_t i = 0; i < count; ++i) {
        auto builder = member(kind, i, rules);
        builder.cpu(cpu);
        if (gpus > 0) {
          builder.gpus(gpus);
        }
        if (selects) {
          builder.node_selector("pool", "a");
        }
        if (required) {
          builder.annotation(kRequiredTopology, kRack);
        }
        request.pending.push_back(state.describe(builder.build()));
        groups->set_pod(request.pending.back());
      }
    }
    const std::int64_t members = std::ssize(request.pending);
    request.min_member = rng.chance(2, 3) ? members : rng.between(1, members);
    groups->set_group(test::pod_group("g", request.min_member).build());
  }
};

/// The state as text, without how many slots its tables have grown to.
std::string picture(const sched::ClusterState& state) {
  const std::string text = state.dump();
  return text.substr(0, text.find(" slots="));
}

class AgainstEveryPlacement : public testing::TestWithParam<std::uint64_t> {};

TEST_P(AgainstEveryPlacement, AGroupIsPlacedIfThereIsAWay) {
  for (std::uint64_t round = 0; round < 20; ++round) {
    RandomCase a(GetParam() * 1000 + round);
    SCOPED_TRACE(fmt::format("round {}\n{}", round, a.text()));
    const EveryPlacement every(*a.framework, a.state, a.request);
    const std::string before = picture(a.state);
    sched::Decider decider(*a.framework, a.state);
    const GroupDecision decision = place_group(decider, a.request);
    ASSERT_EQ(decision.members.size(), a.request.pending.size());
    ASSERT_TRUE(decision.proven);
    ASSERT_EQ(decision.placed, every.most() >= a.request.min_member)
        << decision.members.back().decision.message;
    if (!decision.placed) {
      ASSERT_EQ(picture(a.state), before);
      continue;
    }
    std::vector<sched::NodeId> nodes;
    for (const MemberDecision& member : decision.members) {
      if (member.decision.placed()) {
        nodes.push_back(member.decision.node);
      }
    }
    ASSERT_GE(std::ssize(nodes), a.request.min_member);
    ASSERT_TRUE(every.allowed(nodes));
    if (every.least()) {
      ASSERT_EQ(nodes.size(), a.request.pending.size()) << "all fit";
      ASSERT_EQ(every.spread_of(nodes), *every.least());
    }
  }
}

TEST_P(AgainstEveryPlacement, TheOrderOfTheRequestMakesNoDifference) {
  const auto outcome = [&](bool reversed) {
    RandomCase a(GetParam() + 500);
    if (reversed) {
      std::ranges::reverse(a.request.pending);
    }
    sched::Decider decider(*a.framework, a.state);
    std::map<std::string, std::string> said;
    for (const MemberDecision& member : place_group(decider, a.request).members) {
      said[member.pod->name()] = member.decision.node_name + member.decision.message;
    }
    return said;
  };
  EXPECT_EQ(outcome(false), outcome(true));
  EXPECT_EQ(outcome(false), outcome(false));
}

INSTANTIATE_TEST_SUITE_P(Seeds, AgainstEveryPlacement, test::seeds(30));

} // namespace
} // namespace berth::gang
