#include "berth/node/device_ledger.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/rng.h"

namespace berth::node {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Holding holding(std::string pod, std::string container, std::string resource,
                std::vector<std::string> ids) {
  return {.pod_uid = std::move(pod),
          .container = std::move(container),
          .resource = std::move(resource),
          .devices = {{0, std::move(ids)}}};
}

TEST(Holding, IdsAreSortedAndThereOnce) {
  const Holding held{.devices = {{0, {"z", "a"}}, {1, {"a", "m"}}, {-1, {"b"}}}};
  EXPECT_THAT(held.ids(), ElementsAre("a", "b", "m", "z"));
}

TEST(DeviceLedger, ADeviceIsOnePods) {
  DeviceLedger ledger;
  ASSERT_TRUE(ledger.record(holding("p", "c", "gpu", {"0", "1"})));
  EXPECT_FALSE(ledger.record(holding("q", "c", "gpu", {"1", "2"})));
  EXPECT_EQ(ledger.holder("gpu", "1"), "p");
  EXPECT_EQ(ledger.holder("gpu", "2"), "");
  EXPECT_THAT(ledger.of_pod("q"), IsEmpty());
  EXPECT_TRUE(ledger.record(holding("q", "c", "nic", {"1"}))) << "another resource's device";
}

TEST(DeviceLedger, TwoContainersOfAPodMayShare) {
  DeviceLedger ledger;
  ASSERT_TRUE(ledger.record(holding("p", "init", "gpu", {"0", "1"})));
  ASSERT_TRUE(ledger.record(holding("p", "main", "gpu", {"0"})));
  ledger.erase("p", "init", "gpu");
  EXPECT_EQ(ledger.holder("gpu", "0"), "p");
  EXPECT_EQ(ledger.holder("gpu", "1"), "");
  EXPECT_THAT(ledger.held("gpu"), ElementsAre("0"));
}

TEST(DeviceLedger, ASecondRecordReplaces) {
  DeviceLedger ledger;
  ASSERT_TRUE(ledger.record(holding("p", "c", "gpu", {"0", "1"})));
  ASSERT_TRUE(ledger.record(holding("p", "c", "gpu", {"1", "2"})));
  EXPECT_THAT(ledger.held("gpu"), ElementsAre("1", "2"));
  ASSERT_TRUE(ledger.record(holding("q", "c", "gpu", {"0"})));
  // A refused replacement leaves what there was.
  EXPECT_FALSE(ledger.record(holding("p", "c", "gpu", {"0"})));
  EXPECT_THAT(ledger.find("p", "c", "gpu")->ids(), ElementsAre("1", "2"));
}

Holding part(std::string pod, std::string container, std::vector<std::string> ids, GpuPart part) {
  Holding made = holding(std::move(pod), std::move(container), "gpu", std::move(ids));
  made.part = GpuParts{.each = part};
  return made;
}

TEST(DeviceLedger, PartsOfADeviceAreSeveralPods) {
  DeviceLedger ledger;
  ASSERT_TRUE(ledger.record(part("p", "c", {"0"}, {.milli = 600})));
  EXPECT_FALSE(ledger.record(part("q", "c", {"0"}, {.milli = 500})));
  EXPECT_FALSE(ledger.record(part("q", "c", {"1", "0"}, {.milli = 500}))) << "one of two";
  ASSERT_TRUE(ledger.record(part("q", "c", {"0"}, {.milli = 400})));
  EXPECT_THAT(ledger.holders("gpu", "0"), ElementsAre("p", "q"));
  EXPECT_EQ(ledger.parts_in_use("gpu", "0", [](const auto&) { return true; }),
            (PartUse{.milli = 1000, .memory = 0}));
  ledger.erase_pod("p");
  EXPECT_TRUE(ledger.record(part("r", "c", {"0"}, {.milli = 600})));
}

TEST(DeviceLedger, WholeAndInPartsExcludeEachOther) {
  DeviceLedger ledger;
  ASSERT_TRUE(ledger.record(part("p", "c", {"0"}, {.milli = 1})));
  EXPECT_FALSE(ledger.record(holding("q", "c", "gpu", {"0"})));
  ASSERT_TRUE(ledger.record(holding("q", "c", "gpu", {"1"})));
  EXPECT_FALSE(ledger.record(part("p", "c", {"1"}, {.milli = 1})));
  EXPECT_THAT(ledger.find("p", "c", "gpu")->ids(), ElementsAre("0")) << "as it was";
}

TEST(DeviceLedger, MemoryCountsWhereItIsAskedFor) {
  DeviceLedger ledger;
  const GpuPart three{.memory = 3, .gpu_memory = 8};
  ASSERT_TRUE(ledger.record(part("p", "c", {"0"}, three)));
  ASSERT_TRUE(ledger.record(part("q", "c", {"0"}, three)));
  EXPECT_FALSE(ledger.record(part("r", "c", {"0"}, three)));
  EXPECT_TRUE(ledger.record(part("s", "c", {"0"}, {.milli = 1000, .gpu_memory = 8})));
  EXPECT_FALSE(ledger.record(part("r", "c", {"1"}, {.memory = 3}))) << "how much it has is unknown";
}

TEST(DeviceLedger, ContainersOfAPodAddUpExceptWhatInitContainersHadBefore) {
  DeviceLedger ledger;
  ASSERT_TRUE(ledger.record(part("p", "init", {"0"}, {.milli = 700, .init = true})));
  ASSERT_TRUE(ledger.record(part("p", "a", {"0"}, {.milli = 400})));
  EXPECT_FALSE(ledger.record(part("p", "b", {"0"}, {.milli = 700})));
  ASSERT_TRUE(ledger.record(part("p", "b", {"0"}, {.milli = 500})));
  EXPECT_FALSE(ledger.record(part("q", "c", {"0"}, {.milli = 200})));
  EXPECT_TRUE(ledger.record(part("q", "c", {"0"}, {.milli = 100})));
}

// The plain reference: a list of holdings, looked through from the start each time.
class Plain {
 public:
  bool record(const Holding& added) {
    std::vector<Holding> after = list_;
    std::erase_if(after, [&](const Holding& each) {
      return each.pod_uid == added.pod_uid && each.container == added.container &&
             each.resource == added.resource;
    });
    after.push_back(added);
    for (const std::string& id : added.ids()) {
      if (!sound(after, added.resource, id)) {
        return false;
      }
    }
    list_ = after;
    return true;
  }
  // Whether the holdings of a device can be at one time: thousandths and memory counted out.
  static bool sound(const std::vector<Holding>& list, const std::string& resource,
                    const std::string& id) {
    std::set<std::string> pods;
    std::set<std::string> whole;
    std::int64_t milli = 0;
    for (const Holding& each : list) {
      if (each.resource == resource && has(each, id)) {
        pods.insert(each.pod_uid);
        if (!each.part) {
          whole.insert(each.pod_uid);
        }
        milli += each.part ? each.part->each.milli : 0;
      }
    }
    return whole.empty() ? milli <= 1000 : pods.size() == 1;
  }
  void erase(const std::string& pod, const std::string& container, const std::string& resource) {
    std::erase_if(list_, [&](const Holding& each) {
      return each.pod_uid == pod && (container.empty() || each.container == container) &&
             (resource.empty() || each.resource == resource);
    });
  }
  std::string holder(const std::string& resource, const std::string& id) const {
    for (const Holding& each : all()) {
      if (each.resource == resource && has(each, id)) {
        return each.pod_uid;
      }
    }
    return "";
  }
  std::vector<Holding> all() const {
    std::vector<Holding> sorted = list_;
    std::ranges::sort(sorted, {}, [](const Holding& each) {
      return std::tuple(each.pod_uid, each.container, each.resource);
    });
    return sorted;
  }

 private:
  static bool has(const Holding& holding, const std::string& id) {
    const auto ids = holding.ids();
    return std::ranges::find(ids, id) != ids.end();
  }
  std::vector<Holding> list_;
};

class Histories : public ::testing::TestWithParam<int> {};

TEST_P(Histories, AgreeWithAPlainList) {
  Rng rng(static_cast<std::uint64_t>(GetParam()));
  DeviceLedger ledger;
  Plain plain;
  const auto pick = [&](const char* prefix, std::uint64_t count) {
    return fmt::format("{}{}", prefix, rng.below(count));
  };
  for (int turn = 0; turn < 300; ++turn) {
    const std::string pod = pick("p", 4);
    const std::string container = pick("c", 3);
    const std::string resource = pick("r", 2);
    switch (rng.below(6)) {
    case 0:
      ledger.erase(pod, container, resource);
      plain.erase(pod, container, resource);
      break;
    case 1:
      if (rng.chance(1, 2)) {
        ledger.erase_container(pod, container);
        plain.erase(pod, container, "");
      } else {
        ledger.erase_pod(pod);
        plain.erase(pod, "", "");
      }
      break;
    default: {
      Holding added{.pod_uid = pod, .container = container, .resource = resource};
      // A pod asks in one way for all its containers.
      if (pod == "p0" || pod == "p1") {
        added.part = GpuParts{.each = {.milli = static_cast<int>(rng.between(1, 6)) * 100}};
      }
      for (std::int64_t i = rng.between(1, 3); i > 0; --i) {
        added.devices[rng.between(-1, 1)].push_back(pick("d", 8));
      }
      ASSERT_EQ(ledger.record(added), plain.record(added)) << "turn " << turn;
      break;
    }
    }
    const std::vector<Holding> want = plain.all();
    ASSERT_EQ(ledger.all(), want) << "turn " << turn;
    ASSERT_EQ(ledger.empty(), want.empty());
    std::set<std::string> pods;
    std::set<std::string> resources;
    for (const Holding& each : want) {
      pods.insert(each.pod_uid);
      resources.insert(each.resource);
      ASSERT_EQ(*ledger.find(each.pod_uid, each.container, each.resource), each);
    }
    ASSERT_EQ(ledger.pods(), std::vector<std::string>(pods.begin(), pods.end()));
    ASSERT_EQ(ledger.resources(), std::vector<std::string>(resources.begin(), resources.end()));
    for (const std::string of : {"r0", "r1"}) {
      std::set<std::string> held;
      for (int i = 0; i < 8; ++i) {
        const std::string id = fmt::format("d{}", i);
        ASSERT_EQ(ledger.holder(of, id), plain.holder(of, id)) << of << " " << id;
        if (!plain.holder(of, id).empty()) {
          held.insert(id);
        }
      }
      ASSERT_EQ(ledger.held(of), held);
    }
    for (int i = 0; i < 4; ++i) {
      const std::string uid = fmt::format("p{}", i);
      std::vector<Holding> of_pod;
      std::ranges::copy_if(want, std::back_inserter(of_pod),
                           [&](const Holding& each) { return each.pod_uid == uid; });
      std::vector<Holding> got;
      for (const Holding* each : ledger.of_pod(uid)) {
        got.push_back(*each);
      }
      ASSERT_EQ(got, of_pod);
      std::erase_if(of_pod, [](const Holding& each) { return each.container != "c1"; });
      ASSERT_THAT(ledger.of_container(uid, "c1"), SizeIs(of_pod.size()));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Histories, ::testing::Range(1, 31));

} // namespace
} // namespace berth::node
