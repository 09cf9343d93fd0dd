// Decider against schedule_one: the same decisions over random histories, and quick ones where it
// promises them.
#include "berth/sched/decider.h"

#include <regex>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/api/json.h"
#include "berth/testing/random_terms.h"
#include "berth/testing/scheduling_world.h"
#include "berth/testing/seeds.h"

namespace berth::sched {
namespace {

using test::node;
using test::pod;
using test::SchedulingWorld;

/// Everything of a decision that its receiver may act on.
std::string text_of(const Decision& d) {
  std::string text = fmt::format(
      "{} on {} gpus {:x} feasible {} message {} plugins [{}] pending [{}] nominated {} lost {}",
      static_cast<int>(d.outcome), d.node_name, d.gpus, d.feasible_nodes, d.message,
      fmt::join(d.unschedulable_plugins, ","), fmt::join(d.pending_plugins, ","),
      d.nominated_node.value_or("-"), d.reserved_then_lost);
  for (const PodPtr& victim : d.victims) {
    text += " victim " + victim->uid;
  }
  for (const auto& [key, value] : d.annotations) {
    text += fmt::format(" {}={}", key, value);
  }
  return text;
}

/// ClusterState::dump without the addresses of objects.
std::string picture(const ClusterState& state) {
  static const std::regex kAddress("object=0x[0-9a-f]+");
  return std::regex_replace(state.dump(), kAddress, "object");
}

Profile gpu_profile() {
  Profile profile = default_profile();
  profile.plugins.push_back({.name = "GpuTopology", .weight = 3, .args = {}});
  profile.plugins.push_back({.name = "GpuSlices", .weight = 2, .args = {}});
  return profile;
}

/// With those plugins of scheduler-plugins whose answer is the node's alone, and quotas.
Profile extended_profile() {
  Profile profile = gpu_profile();
  const auto add = [&](std::string_view name, std::string_view args = "null") {
    profile.plugins.push_back(
        {.name = std::string(name), .weight = 1, .args = test::json_of(args)});
  };
  add("NodeResourceTopologyMatch", R"({"cacheResyncPeriodSeconds": 5})");
  add("NodeResourcesAllocatable");
  add("TargetLoadPacking");
  add("LoadVariationRiskBalancing", R"({"resources": ["cpu", "memory", "nvidia.com/gpu"]})");
  add("LowRiskOverCommitment");
  add("CapacityScheduling");
  return profile;
}

/// Two equal worlds: one decided by a Decider that lives on, one by schedule_one.
class Twins {
 public:
  explicit Twins(const Profile& profile = gpu_profile())
      : quick_(profile), plain_(profile), decider_(quick_.framework(), quick_.state()) {}

  template <class Act> void both(const Act& act) {
    act(quick_);
    act(plain_);
  }
  /// The decision, after checking that both agree.
  Decision decide(const test::PodBuilder& builder, const CycleOptions& options = {}) {
    Decision quick = decider_.decide(quick_.describe(builder), options);
    const Decision plain =
        schedule_one(plain_.framework(), plain_.state(), plain_.describe(builder), options);
    EXPECT_EQ(text_of(quick), text_of(plain));
    // A picture of a large cluster takes longer than the decision.
    if (quick_.state().nodes().size() < 16 || ++decided_ % 16 == 0) {
      EXPECT_EQ(picture(quick_.state()), picture(plain_.state()));
    }
    return quick;
  }
  const Decider& decider() const { return decider_; }

 private:
  SchedulingWorld quick_;
  SchedulingWorld plain_;
  Decider decider_;
  int decided_ = 0;
};

/// A cluster that lives through a seeded history, decided by both twins.
class DeciderHistory : public testing::TestWithParam<std::uint64_t> {
 protected:
  DeciderHistory() {
    if (crosses_nodes) {
      Rng templates(GetParam() + 77);
      test::RandomTerms terms(templates);
      for (int i = 0; i < 6; ++i) {
        templates_.push_back(terms.add_to(small_pod(i)));
      }
      names = GetParam() % 4 == 1 ? 12 : 90; // more than 32 racks and hosts
      usual_nodes = GetParam() % 4 == 1 ? 6 : 70;
      const auto web = test::service("web").selects("tier", "web");
      twins.both([&](SchedulingWorld& world) { world.with(web); });
    }
  }

  static test::PodBuilder small_pod(int i) {
    return pod("template").cpu(fmt::to_string(1 + i % 2)).memory("4Gi");
  }

  test::NodeBuilder random_node(std::string_view name) {
    constexpr std::string_view kPlatforms[] = {"dgx-h100", "l40s-pcie-8", "dgx-a100", ""};
    auto builder = node(name);
    builder.cpu(fmt::to_string(8 * rng.between(1, 8))).memory("512Gi").pods(12);
    if (const auto platform = kPlatforms[rng.below(4)]; !platform.empty()) {
      builder.platform(platform).gpus(8);
      if (rng.chance(1, 6)) {
        builder.annotation("berth.dev/unhealthy-gpus", fmt::to_string(rng.below(8)));
      }
    } else if (rng.chance(1, 2)) {
      builder.gpus(static_cast<int>(rng.between(1, 8)));
    } else {
      builder.resource("nvidia.com/mig-1g.10gb", "5")
          .annotation("berth.dev/gpu-devices", "nvidia.com/mig-1g.10gb=mig:0x3,1x2");
    }
    if (rng.chance(7, 8)) {
      builder.label("zone", rng.chance(1, 2) ? "a" : "b");
    }
    if (rng.chance(1, 6)) {
      builder.taint("team", rng.chance(1, 2) ? "NoSchedule" : "PreferNoSchedule", "x");
    }
    if (rng.chance(1, 10)) {
      builder.unschedulable();
    }
    if (rng.chance(1, 6)) {
      builder.image(fmt::format("image-{}:1", rng.below(2)), 500'000'000);
    }
    if (crosses_nodes && rng.chance(7, 8)) {
      builder.label("rack", fmt::format("r{}", rng.below(names / 2)));
    }
    if (crosses_nodes && rng.chance(1, 12)) {
      builder.label("kubernetes.io/hostname", "shared");
    }
    if (rng.chance(1, 4)) {
      builder.resource(fmt::format("example.com/nic-{}", rng.below(3)), "2");
    }
    return builder;
  }

  /// One of a dozen shapes.
  test::PodBuilder random_pod(std::string_view name) {
    if (crosses_nodes && rng.chance(2, 3)) {
      auto builder = templates_[rng.below(templates_.size())];
      builder.edit([&](boost::json::object& document) {
        api::object_at(document, "metadata")["name"] = test::text(name);
      });
      if (rng.chance(1, 6)) {
        builder.ns("other");
      }
      if (rng.chance(1, 8)) {
        builder.label("index", name); // as an indexed Job's pods have
      }
      return builder;
    }
    auto builder = pod(name);
    const std::uint64_t shape = rng.below(12);
    constexpr int kGpus[] = {0, 1, 2, 4, 8, 1};
    builder.gpus(kGpus[shape % 6]).cpu(fmt::to_string(1 + shape % 4)).memory("4Gi");
    builder.image(fmt::format("image-{}:1", shape % 3));
    if (shape % 4 == 1) {
      builder.tolerates_everything();
    }
    if (shape % 5 == 2) {
      builder.node_selector("zone", "a");
    }
    if (shape % 5 == 3) {
      builder.prefers_node(10, "zone", "In", {"b"});
    }
    if (shape % 7 == 6) {
      builder.host_port(8080);
    }
    if (shape == 11) {
      builder.priority(5);
    }
    if (is_extended && shape % 3 == 0) { // Guaranteed, some of it in a second container
      builder.extended("cpu", shape % 2 == 0 ? "2" : "1").extended("memory", "4Gi");
      if (shape % 2 == 0) {
        builder.container("second").extended("cpu", "2").extended("memory", "1Gi");
      }
    }
    if (crosses_nodes && shape == 5) { // one shape; a Service selects some of it
      builder.label("tier", rng.chance(1, 2) ? "web" : "db");
    }
    if (shape == 4 || rng.chance(1, 30)) {
      builder.extended(fmt::format("example.com/nic-{}", rng.below(3)), "1");
      builder.priority(static_cast<std::int64_t>(rng.below(3)));
    }
    if (shape == 6) {
      builder.extended("nvidia.com/mig-1g.10gb", "1");
    }
    if (crosses_nodes && rng.chance(1, 2)) {
      builder.label("app", rng.chance(1, 2) ? "x" : "y");
    }
    if (crosses_nodes && rng.chance(1, 3)) {
      builder.owned_by(rng.chance(1, 2) ? owner("rs-a") : owner("rs-b"));
    }
    return builder;
  }

  static api::Object owner(const std::string& name) {
    return *api::Object::from_json(test::json_of(fmt::format(
        R"({{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{{"name":"{0}","uid":"{0}"}}}})",
        name)));
  }

  /// Services and ReplicaSets come, go, and select others.
  void change_workloads() {
    const std::string name(rng.chance(1, 2) ? "rs-a" : "rs-b");
    const std::string app(rng.chance(1, 2) ? "x" : "y");
    switch (rng.below(4)) {
    case 0:
      return twins.both(
          [&](SchedulingWorld& world) { world.with(test::replica_set(name).selects("app", app)); });
    case 1:
      return twins.both([&](SchedulingWorld& world) {
        world.state().change_workloads().remove_controller("ReplicaSet", {"default", name});
      });
    case 2:
      return twins.both(
          [&](SchedulingWorld& world) { world.with(test::service("apps").selects("app", app)); });
    default:
      return twins.both([&](SchedulingWorld& world) {
        world.state().change_workloads().remove_service({"default", "apps"});
      });
    }
  }

  /// Reports of one node, or the namespace's quota, change.
  void report() {
    const std::string name = fmt::format("n{}", rng.below(names));
    if (rng.chance(1, 2)) {
      auto report = test::numa_report(name).scope(rng.chance(1, 2) ? "pod" : "container");
      for (int zone = 0; zone < 2; ++zone) {
        report.zone(fmt::format("node-{}", zone))
            .free("cpu", fmt::to_string(rng.between(1, 24)))
            .free("memory", "64Gi");
      }
      twins.both([&](SchedulingWorld& world) { world.with(report); });
    } else if (rng.chance(1, 8)) {
      twins.both([&](SchedulingWorld& world) { world.state().remove_numa_report(name); });
    } else if (rng.chance(1, 10)) {
      const auto quota = test::elastic_quota("q")
                             .min("cpu", fmt::to_string(rng.between(40, 400)))
                             .min("memory", "2Ti")
                             .min(model::kGpuResource, fmt::to_string(rng.between(40, 90)));
      twins.both([&](SchedulingWorld& world) { world.with(quota); });
    } else {
      const auto metrics = test::node_metrics(name)
                               .measured("CPU", "AVG", static_cast<double>(rng.below(101)))
                               .measured("CPU", "STD", static_cast<double>(rng.below(30)))
                               .measured("GPU", "AVG", static_cast<double>(rng.below(101)));
      twins.both([&](SchedulingWorld& world) { world.with(metrics); });
    }
  }

  void change_nodes(int step) {
    if (step < usual_nodes || rng.chance(1, 8)) {
      const auto builder = random_node(fmt::format("n{}", rng.below(names)));
      twins.both([&](SchedulingWorld& world) { world.with(builder); });
    }
    if (is_extended && rng.chance(1, 4)) {
      report();
    }
    if (rng.chance(1, 40)) {
      const std::string gone = fmt::format("n{}", rng.below(names));
      twins.both([&](SchedulingWorld& world) { world.state().remove_node(gone); });
    }
    if (crosses_nodes && rng.chance(1, 12)) {
      change_workloads();
    }
    if (crosses_nodes && rng.chance(1, 25)) {
      const api::Labels labels = {{"team", rng.chance(1, 2) ? "x" : "y"}};
      const std::string ns = rng.chance(1, 2) ? "other" : "default";
      twins.both([&](SchedulingWorld& world) { world.state().set_namespace(ns, labels); });
    }
  }

  /// Pods leave, or are told of again: bound, relabelled, on their way out.
  void change_pods() {
    for (int i = 0; i < 3 && !placed.empty() && rng.chance(1, 3); ++i) {
      const auto it =
          std::next(placed.begin(), static_cast<std::ptrdiff_t>(rng.below(placed.size())));
      twins.both([&](SchedulingWorld& world) { world.state().remove_pod(it->first); });
      placed.erase(it);
    }
    if (placed.empty() || rng.chance(2, 3)) {
      return;
    }
    auto& [builder, on] =
        std::next(placed.begin(), static_cast<std::ptrdiff_t>(rng.below(placed.size())))->second;
    builder.on_node(on);
    if (rng.chance(1, 4)) {
      builder.label("app", rng.chance(1, 2) ? "x" : "y");
    }
    if (rng.chance(1, 6)) {
      builder.deleted(TimePoint::from_unix_seconds(7));
    }
    twins.both([&](SchedulingWorld& world) { world.state().set_pod(world.describe(builder)); });
  }

  void decide(const test::PodBuilder& builder) {
    const Decision decision = twins.decide(builder);
    if (decision.placed()) {
      const auto object = builder.build();
      placed.emplace(object->key().to_string(), std::pair(builder, decision.node_name));
    }
    // Victims leave now or never; the nomination ends with a later attempt of the preemptor.
    for (const PodPtr& victim : decision.victims) {
      placed.erase(victim->uid);
      twins.both([&](SchedulingWorld& world) { world.state().remove_pod(victim->uid); });
    }
    if (decision.nominated_node && rng.chance(2, 3)) {
      decide(builder);
    }
  }

  Rng rng{GetParam()};
  bool crosses_nodes = GetParam() % 2 == 1;
  bool is_extended = GetParam() % 3 == 0;
  std::uint64_t names = 12;
  int usual_nodes = 6;
  Twins twins{is_extended ? extended_profile() : gpu_profile()};
  std::map<std::string, std::pair<test::PodBuilder, std::string>> placed; // by uid: pod, node

 private:
  std::vector<test::PodBuilder> templates_;
};

TEST_P(DeciderHistory, DecidesAsScheduleOneDoes) {
  for (int step = 0; step < 250; ++step) {
    SCOPED_TRACE(fmt::format("seed {} step {}", GetParam(), step));
    change_nodes(step);
    change_pods();
    decide(random_pod(fmt::format("p{}", step)));
    if (HasFailure()) {
      return;
    }
  }
  if (!is_extended) { // refusals by quotas name the pod, so each is decided anew
    EXPECT_GT(twins.decider().quick_decisions(), crosses_nodes ? 20U : 50U);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, DeciderHistory, test::seeds(60));

/// Berth's and kube-scheduler's defaults spread what a controller owns over hosts and zones.
TEST(Decider, KnowsPodsThatTheDefaultsSpread) {
  Twins twins;
  for (int i = 0; i < 20; ++i) {
    twins.both([&](SchedulingWorld& world) {
      world.with(node(fmt::format("n{}", i)).gpus(8).label("zone", i % 2 == 0 ? "a" : "b"));
    });
  }
  for (const std::string name : {"rs-a", "rs-b"}) {
    twins.both(
        [&](SchedulingWorld& world) { world.with(test::replica_set(name).selects("app", name)); });
  }
  for (int i = 0; i < 40; ++i) {
    const std::string set = i % 2 == 0 ? "rs-a" : "rs-b";
    const auto owner = *api::Object::from_json(
        test::json_of(fmt::format(R"({{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":)"
                                  R"({{"name":"{0}","uid":"{0}"}}}})",
                                  set)));
    EXPECT_TRUE(twins.decide(pod(fmt::format("p{}", i)).gpus(1).label("app", set).owned_by(owner))
                    .placed());
  }
  EXPECT_EQ(twins.decider().quick_decisions(), 36U) << "but for two pods of each set";
}

TEST(Decider, LooksAtNoMoreThanWhatChangedOnceAShapeIsKnown) {
  Twins twins;
  for (int i = 0; i < 20; ++i) {
    twins.both([&](SchedulingWorld& world) {
      world.with(node(fmt::format("n{}", i)).gpus(8).platform("dgx-h100"));
    });
  }
  for (int i = 0; i < 40; ++i) {
    EXPECT_TRUE(twins.decide(pod(fmt::format("p{}", i)).gpus(1 + i % 2)).placed());
  }
  EXPECT_EQ(twins.decider().quick_decisions(), 36U) << "two shapes, each met twice before";
}

TEST(Decider, CountsAcrossNodesWithoutLookingAtThemAgain) {
  Twins twins;
  for (int i = 0; i < 40; ++i) {
    twins.both([&](SchedulingWorld& world) {
      world.with(node(fmt::format("n{}", i)).label("zone", i % 3 == 0 ? "a" : "b"));
    });
  }
  const auto spread = test::with_spec(
      pod("spread").label("app", "x"), "topologySpreadConstraints",
      R"([{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
           "labelSelector": {"matchLabels": {"app": "x"}}}])");
  const auto alone =
      test::with_spec(pod("alone").label("app", "y"), "affinity",
                      R"({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
          {"topologyKey": "kubernetes.io/hostname",
           "labelSelector": {"matchLabels": {"app": "y"}}}]}})");
  const auto bystander = pod("bystander").label("app", "y");
  for (int i = 0; i < 30; ++i) {
    for (auto builder : {spread, alone, bystander}) {
      builder.edit([&](boost::json::object& document) {
        auto& name = api::object_at(document, "metadata")["name"].as_string();
        name.append(fmt::format("-{}", i));
      });
      builder.label("index", fmt::to_string(i)); // of no interest to anybody
      twins.decide(builder);
    }
  }
  EXPECT_GT(twins.decider().quick_decisions(), 20U);
}

TEST(Decider, TellsARackThatIsDislikedFromNoRack) {
  Twins twins;
  for (int i = 0; i < 60; ++i) {
    auto builder = node(fmt::format("n{}", i)).cpu(fmt::to_string(8 + i % 3));
    if (i % 4 != 0) {
      builder.label("rack", fmt::format("r{}", i));
    }
    twins.both([&](SchedulingWorld& world) { world.with(builder); });
  }
  for (int i = 0; i < 80; ++i) {
    twins.decide(test::with_spec(pod(fmt::format("p{}", i)).cpu("1"), "affinity",
                                 R"({"podAntiAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm":
          {"topologyKey": "rack", "labelSelector": {}}}]}})"));
  }
}

TEST(Decider, PreemptorsOfOneKindAgreeWhileTheirVictimsLeaveOrStay) {
  Twins twins;
  for (int i = 0; i < 15; ++i) {
    const std::string name = fmt::format("n{}", i);
    twins.both([&](SchedulingWorld& world) {
      world.with(node(name).cpu("4"));
      for (int j = 0; j < 4; ++j) {
        world.with(pod(fmt::format("low-{}-{}", i, j)).cpu("1").priority((i + j) % 3), name);
      }
    });
  }
  for (int i = 0; i < 30; ++i) {
    const auto builder = pod(fmt::format("high-{}", i)).cpu("2").priority(10);
    const Decision decision = twins.decide(builder);
    if (i % 4 == 0) {
      continue; // victims take their time
    }
    for (const PodPtr& victim : decision.victims) {
      twins.both([&](SchedulingWorld& world) { world.state().remove_pod(victim->uid); });
    }
    if (decision.nominated_node && i % 3 != 0) {
      twins.decide(builder);
    }
  }
}

TEST(Decider, ACrowdThatFitsNowhereIsDecidedOnce) {
  Twins twins;
  twins.both([&](SchedulingWorld& world) { world.with(node("n").gpus(8)); });
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(twins.decide(pod(fmt::format("p{}", i)).gpus(16)).placed());
  }
  EXPECT_EQ(twins.decider().quick_decisions(), 9U);
}

TEST(Decider, AsksPluginsThatLookBeyondTheShape) {
  /// Lets a pod pass by its name alone.
  class ByName final : public Plugin {
   public:
    std::string_view name() const override { return "ByName"; }
    Points points() const override { return static_cast<Points>(Point::Filter); }
    bool looks_beyond_shape() const override { return true; }
    Prepared prepare(const PodPtr& pod, const ClusterState&) const override {
      return {.status = pod->name().starts_with("ok")
                            ? Status::skip()
                            : Status::of(StatusCode::Unresolvable, "wrong name"),
              .run = nullptr,
              .nodes = {}};
    }
  };
  Registry registry = builtin_plugins();
  ASSERT_TRUE(registry.add("ByName", [](const PluginConfig&) -> Result<std::unique_ptr<Plugin>> {
    return std::make_unique<ByName>();
  }));
  Profile profile = default_profile();
  profile.plugins.push_back({.name = "ByName", .weight = 1, .args = {}});
  auto framework = Framework::make(profile, registry);
  ASSERT_TRUE(framework);
  ClusterState state;
  state.set_node(node("n").cpu("64").build());
  Decider decider(*framework, state);
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(decider.decide(state.describe(pod(fmt::format("ok{}", i)).build())).placed());
    EXPECT_FALSE(decider.decide(state.describe(pod(fmt::format("no{}", i)).build())).placed());
  }
  EXPECT_GT(decider.quick_decisions(), 0U);
}

} // namespace
} // namespace berth::sched
