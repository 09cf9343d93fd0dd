// Random histories of a machine: GPUs fail, come back and are cut anew, the disk fills up, and
// whatever a kubelet sees must always be so.
#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/rng.h"
#include "berth/deviceplugin/plugin_fixture.h"

namespace berth::deviceplugin {
namespace {

class Histories : public test::Plugin, public ::testing::WithParamInterface<std::uint64_t> {
 protected:
  void choose_options(Rng& rng) {
    options_.config.flags.mig_strategy =
        std::array{inventory::MigStrategy::None, inventory::MigStrategy::Single,
                   inventory::MigStrategy::Mixed}[rng.below(3)];
    if (rng.chance(1, 2)) {
      options_.config.sharing.time_slicing =
          SharedResources{.resources = {{.name = "nvidia.com/gpu", .devices = {}, .replicas = 3}}};
    }
  }

  void step(Rng& rng) {
    const int gpu = static_cast<int>(rng.below(8));
    constexpr std::array<std::string_view, 4> kCuts{"", "1g.10gb=7", "3g.40gb=2",
                                                    "1g.10gb=1,2g.20gb=1"};
    constexpr std::array<int, 5> kXids{13, 48, 63, 74, 79};
    switch (rng.below(7)) {
    case 0:
      EXPECT_TRUE(inventory_.xid(gpu, kXids[rng.below(kXids.size())]));
      break;
    case 1:
      EXPECT_TRUE(inventory_.lose(gpu));
      break;
    case 2:
    case 3:
      EXPECT_TRUE(inventory_.repair(gpu));
      break;
    case 4:
      EXPECT_TRUE(inventory_.cut(gpu, kCuts[rng.below(kCuts.size())]));
      break;
    case 5:
      EXPECT_TRUE(inventory_.uncut(gpu));
      break;
    default:
      specs_.full = !specs_.full;
    }
    run();
  }

  /// Follows every plugin there is, as a kubelet does.
  void follow() {
    std::erase_if(followed_, [&](const auto& entry) { return set_->find(entry.first) == nullptr; });
    for (const std::string& resource : set_->resources()) {
      if (!followed_.contains(resource) || set_->find(resource) != followed_[resource]) {
        followed_[resource] = set_->find(resource);
        watch(resource);
      }
    }
  }

  void check() {
    const inventory::NodeFacts facts = inventory_.survey();
    const ResourcePlan plan = plan_resources(facts, options_.config);
    for (const std::string& resource : set_->resources()) {
      std::set<std::string> listed;
      for (const Device& device : lists_[resource]) {
        listed.insert(device.id);
        const PlannedResource* planned = plan.find(resource);
        const PluginDevice* known = planned != nullptr ? planned->find(device.id) : nullptr;
        ASSERT_NE(known, nullptr) << resource << " " << device.id << " is no more";
        EXPECT_TRUE(cdi_.find("k8s.device-plugin.nvidia.com/gpu=" + known->uuid).device)
            << device.id << " is in no spec";
        EXPECT_EQ(device.health == kHealthy, inventory_.probe(known->gpu).usable()) << device.id;
      }
      EXPECT_EQ(listed.size(), lists_[resource].size()) << "an id twice";
    }
    if (!specs_.full && set_->problems() == plan.problems) {
      for (const PlannedResource& planned : plan.resources) {
        EXPECT_EQ(lists_[planned.name].size(), planned.devices.size()) << planned.name;
      }
    }
  }

  std::map<std::string, const GpuPlugin*> followed_;
};

TEST_P(Histories, AKubeletSeesWhatIsThereAndNothingElse) {
  Rng rng(GetParam());
  choose_options(rng);
  start();
  for (int turn = 0; turn < 60 && !HasFatalFailure(); ++turn) {
    SCOPED_TRACE(fmt::format("seed {} turn {}", GetParam(), turn));
    step(rng);
    follow();
    check();
    if (rng.chance(1, 5)) {
      run(Duration::minutes(1)); // plugins retire, specs are written
      follow();
      check();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Histories, ::testing::Range<std::uint64_t>(1, 41));

} // namespace
} // namespace berth::deviceplugin
