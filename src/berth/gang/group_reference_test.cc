// Groups of several shapes against every placement there is: small clusters, all orders of deciding
// the members, all nodes for each.
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/rng.h"
#include "berth/gang/choose_domain.h"
#include "berth/gang/gang_plugin.h"
#include "berth/gang/place_group.h"
#include "berth/gang/spread_levels.h"
#include "berth/testing/scheduling_world.h"
#include "berth/testing/seeds.h"

namespace berth::gang {
namespace {

using test::node;
using test::pod;
using test::with_spec;

constexpr std::string_view kRack = "berth.dev/rack";
constexpr std::string_view kBlock = "berth.dev/block";

/// Units used at each level, from the widest.
using Counts = std::vector<std::size_t>;

/// All ways to place the members, one decision at a time.
class EveryPlacement {
 public:
  EveryPlacement(sched::Framework& framework, sched::ClusterState& state,
                 const GroupRequest& request)
      : framework_(&framework), state_(&state), request_(&request),
        topology_(topology_for(state, request.pending)),
        levels_(topology_.tree, state.node_slots(), topology_.required_key) {
    placed_.resize(request.pending.size());
    explore(0);
  }

  /// Most members that can be placed at once.
  std::int64_t most() const { return most_; }
  /// Of the placements of all members.
  const std::optional<Counts>& least() const { return least_; }

  Counts spread_of(const std::vector<sched::NodeId>& nodes) const {
    Counts counts;
    for (std::size_t level = 0; level < levels_.depth(); ++level) {
      std::set<std::uint32_t> units;
      for (const sched::NodeId node : nodes) {
        units.insert(levels_.unit(level, node));
      }
      counts.push_back(units.size());
    }
    return counts;
  }
  bool allowed(const std::vector<sched::NodeId>& nodes) const {
    return topology_.required_key.empty() ||
           (spread_of(nodes).front() <= 1 && std::ranges::none_of(nodes, [&](sched::NodeId node) {
              return levels_.unit(0, node) == SpreadLevels::kNowhere;
            }));
  }

 private:
  void explore(std::int64_t placed) {
    if (!seen_.insert(picture()).second) {
      return;
    }
    std::vector<sched::NodeId> nodes = request_->placed_on;
    for (const auto& node : placed_) {
      if (node) {
        nodes.push_back(*node);
      }
    }
    if (!allowed(nodes)) {
      return;
    }
    most_ = std::max(most_, placed);
    if (placed == std::ssize(placed_)) {
      const Counts counts = spread_of(nodes);
      least_ = least_ ? std::min(*least_, counts) : counts;
      return;
    }
    for (std::size_t member = 0; member < placed_.size(); ++member) {
      for (std::size_t i = 0; !placed_[member] && i < state_->nodes().size(); ++i) {
        const sched::NodeId node = state_->nodes()[i];
        const sched::PodPtr& pod = request_->pending[member];
        const sched::Decision decision =
            schedule_one(*framework_, *state_, pod,
                         {.post_filter = sched::PostFilters::Skip,
                          .only = std::span<const sched::NodeId>(&node, 1)});
        if (decision.placed()) {
          placed_[member] = node;
          explore(placed + 1);
          placed_[member] = std::nullopt;
          undo_decision(*framework_, *state_, pod, node);
        }
      }
    }
  }

  /// Who is where, but for the names of members that are alike.
  std::string picture() const {
    std::map<std::string, std::multiset<std::uint32_t>> by_kind;
    for (std::size_t member = 0; member < placed_.size(); ++member) {
      const sched::PodInfo& pod = *request_->pending[member];
      std::string kind = std::to_string(pod.shape.index());
      for (const auto& [key, value] : pod.pod->meta.labels) {
        kind += fmt::format(" {}={}", key, value);
      }
      by_kind[kind].insert(placed_[member] ? placed_[member]->index() + 1 : 0);
    }
    return testing::PrintToString(by_kind);
  }

  sched::Framework* framework_;
  sched::ClusterState* state_;
  const GroupRequest* request_;
  GroupTopology topology_;
  SpreadLevels levels_;
  std::vector<std::optional<sched::NodeId>> placed_;
  std::set<std::string> seen_;
  std::int64_t most_ = 0;
  std::optional<Counts> least_;
};

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
