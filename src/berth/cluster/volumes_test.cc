// Claims, volumes and the pods that use them in a whole cluster whose lines lose, delay and repeat
// things: whatever happened, each volume ends with one claim, each pod where its volumes are.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/api/json.h"
#include "berth/base/rng.h"
#include "berth/base/virtual_loop.h"
#include "berth/cluster/cluster.h"
#include "berth/model/storage.h"
#include "berth/sched/cycle.h"
#include "berth/scheduler/scheduler.h"
#include "berth/store/registry.h"
#include "berth/testing/builders.h"

namespace berth::cluster {
namespace {

namespace json = api::json;

constexpr client::Faults kBadLines{.longest_delay = Duration::millis(700),
                                   .conflict_permille = 40,
                                   .lost_permille = 40,
                                   .unanswered_permille = 40,
                                   .failed_read_permille = 40,
                                   .duplicate_permille = 40,
                                   .reorder_permille = 40,
                                   .lose_permille = 20,
                                   .expire_permille = 10};

ClusterSpec three_zones() {
  ClusterSpec spec;
  for (const char* zone : {"a", "b", "c"}) {
    spec.groups.push_back({.platform = "l40s-pcie-8",
                           .count = 2,
                           .prefix = zone,
                           .labels = {{"zone", zone}},
                           .taints = {}});
  }
  return spec;
}

/// One seed's history: classes, volumes and claims at random, pods that share and lack them, some
/// deleted halfway.
class History {
 public:
  explicit History(std::uint64_t seed)
      : rng_(seed), loop_(TimePoint::from_unix_seconds(1'700'000'000)),
        cluster_(loop_, three_zones(),
                 {.seed = seed, .default_run_for = Duration::max(), .line_faults = kBadLines}) {}

  void run() {
    apply(test::storage_class("made").waits().allows("zone", {"a", "b"}));
    apply(test::storage_class("hand").provisioner(model::kNoProvisioner).waits());
    apply(test::storage_class("now").is_default());
    for (int i = 0; i < 6; ++i) {
      apply(test::volume(fmt::format("v{}", i))
                .of_class("hand")
                .size(rng_.chance(1, 2) ? "1Gi" : "3Gi")
                .only_on("zone", {one_of({"a", "b", "c"})}));
    }
    for (int i = 0; i < 10; ++i) {
      auto claim = test::claim(fmt::format("c{}", i)).size(rng_.chance(1, 3) ? "2Gi" : "1Gi");
      if (!rng_.chance(1, 6)) {
        claim.of_class(one_of({"made", "hand", "now"}));
      }
      apply(rng_.chance(1, 6) ? claim.mode("ReadWriteOncePod") : claim);
      live(rng_.below(20'000));
    }
    for (int i = 0; i < 14; ++i) {
      auto pod = test::pod(fmt::format("p{}", i)).image("i").gpus(1).claim(any_claim());
      apply(rng_.chance(1, 4) ? pod.claim(any_claim()) : pod);
      live(rng_.below(20'000));
    }
    for (int i = 0; i < 14; i += 3) {
      cluster_.registry().remove(client::kPods, {"default", fmt::format("p{}", i)}, {},
                                 loop_.now());
      live(rng_.below(5'000));
    }
    cluster_.set_line_faults({});
    live(2 * 3600 * 1000);
  }

  std::vector<std::string> broken() {
    std::vector<std::string> broken;
    if (!cluster_.settled()) {
      broken = cluster_.unsettled();
    }
    check_bindings(broken);
    for (const api::Object& object : list(client::kPods)) {
      check_pod(**model::pod_view(object), broken);
    }
    return broken;
  }

  int running() {
    int count = 0;
    for (const api::Object& object : list(client::kPods)) {
      count += (*model::pod_view(object))->status.phase == "Running" ? 1 : 0;
    }
    return count;
  }

 private:
  const char* one_of(std::vector<const char*> choices) {
    return choices[rng_.below(choices.size())];
  }
  std::string any_claim() { return fmt::format("c{}", rng_.below(11)); } // c10 is missing
  void live(std::uint64_t ms) {
    loop_.run_until(loop_.now() + Duration::millis(static_cast<std::int64_t>(ms)));
  }
  template <class Builder> void apply(const Builder& builder) {
    cluster_.client().create(builder.object(), [](const Result<api::Object>& made) {
      ASSERT_TRUE(made.has_value()) << to_string(made.error());
    });
    live(0);
  }
  std::vector<api::Object> list(const client::GroupKind& kind) {
    return cluster_.registry().list({.kind = kind}).items;
  }

  /// Bound claims and their volumes name each other; no two claims have one volume.
  void check_bindings(std::vector<std::string>& broken) {
    std::map<std::string, std::string> owner;
    for (const api::Object& object : list(client::kVolumeClaims)) {
      const auto claim = *model::claim_view(object);
      if (!claim->bound()) {
        continue;
      }
      const auto volume = cluster_.registry().get(client::kVolumes, {"", claim->volume_name});
      if (!volume || !(*model::volume_view(*volume))->belongs_to(*claim) ||
          (*model::volume_view(*volume))->phase != "Bound" || claim->phase != "Bound") {
        broken.push_back(fmt::format("claim {} and volume {} do not agree", claim->meta.name,
                                     claim->volume_name));
      }
      if (!owner.emplace(claim->volume_name, claim->meta.name).second) {
        broken.push_back(fmt::format("volume {} has two claims", claim->volume_name));
      }
    }
  }

  /// A pod with a node has its volumes there; one without could not be placed.
  void check_pod(const model::Pod& pod, std::vector<std::string>& broken) {
    if (pod.spec.node_name.empty()) {
      sched::ClusterState state = cluster_.scheduler().state();
      auto framework = *sched::Framework::make(sched::default_profile(), sched::builtin_plugins());
      const auto described = state.describe(std::make_shared<model::Pod>(pod));
      if (sched::schedule_one(framework, state, described).placed()) {
        broken.push_back(fmt::format("pod {} is pending although it fits", pod.meta.name));
      }
      return;
    }
    const auto node = cluster_.registry().get(client::kNodes, {"", pod.spec.node_name});
    for (const model::PodVolume& volume : pod.spec.volumes) {
      const auto object = cluster_.registry().get(client::kVolumeClaims, {"default", volume.claim});
      const auto claim = object ? *model::claim_view(*object) : nullptr;
      const auto bound = cluster_.registry().get(client::kVolumes,
                                                 {"", claim ? claim->volume_name : std::string()});
      if (!claim || !claim->bound() || !bound ||
          !(*model::volume_view(*bound))->reachable_from(node->meta().labels)) {
        broken.push_back(
            fmt::format("pod {} runs without its claim {}", pod.meta.name, volume.claim));
      }
    }
  }

  Rng rng_;
  VirtualLoop loop_;
  Cluster cluster_;
};

TEST(VolumesOnBadLines, EndWithOneClaimEachAndPodsWhereTheyAre) {
  int running = 0;
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    History history(seed);
    history.run();
    EXPECT_THAT(history.broken(), testing::IsEmpty()) << "seed " << seed;
    running += history.running();
  }
  EXPECT_GT(running, 50) << "too little happens";
}

} // namespace
} // namespace berth::cluster
