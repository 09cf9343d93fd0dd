#include "berth/controllers/node/node_plan.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/api/json.h"
#include "berth/testing/builders.h"

namespace berth::controllers {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const TimePoint kNow = TimePoint::from_unix_seconds(1'700'000'000);

// "key:effect" of the taints the node should have; "as they are" if none changes.
std::vector<std::string> taints(const test::NodeBuilder& node) {
  const auto demanded = demanded_taints(*node.build(), kNow);
  if (!demanded) {
    return {"as they are"};
  }
  std::vector<std::string> out;
  for (const model::Taint& taint : *demanded) {
    out.push_back(fmt::format("{}:{}", taint.key, taint.effect));
  }
  return out;
}

TEST(DemandedTaints, FollowTheConditions) {
  EXPECT_THAT(taints(test::node("n")), ElementsAre("as they are"));
  EXPECT_THAT(taints(test::node("n").not_ready()),
              ElementsAre("node.kubernetes.io/not-ready:NoSchedule",
                          "node.kubernetes.io/not-ready:NoExecute"));
  EXPECT_THAT(taints(test::node("n").condition("Ready", "Unknown")),
              ElementsAre("node.kubernetes.io/unreachable:NoSchedule",
                          "node.kubernetes.io/unreachable:NoExecute"));
  EXPECT_THAT(taints(test::node("n")
                         .condition("MemoryPressure", "True")
                         .condition("DiskPressure", "True")
                         .condition("PIDPressure", "True")
                         .condition("NetworkUnavailable", "True")),
              ElementsAre("node.kubernetes.io/memory-pressure:NoSchedule",
                          "node.kubernetes.io/disk-pressure:NoSchedule",
                          "node.kubernetes.io/pid-pressure:NoSchedule",
                          "node.kubernetes.io/network-unavailable:NoSchedule"));
  EXPECT_THAT(taints(test::node("n").condition("MemoryPressure", "False")),
              ElementsAre("as they are"));
  EXPECT_THAT(taints(test::node("n").unschedulable()),
              ElementsAre("node.kubernetes.io/unschedulable:NoSchedule"));
}

TEST(DemandedTaints, GoWithTheirConditionAndLeaveOthersAlone) {
  EXPECT_THAT(taints(test::node("n")
                         .taint("node.kubernetes.io/not-ready", "NoSchedule")
                         .taint("nvidia.com/gpu", "NoSchedule", "present")
                         .taint("node.kubernetes.io/not-ready", "NoExecute")),
              ElementsAre("nvidia.com/gpu:NoSchedule"));
  EXPECT_THAT(taints(test::node("n").taint("node.kubernetes.io/unschedulable", "NoSchedule")),
              IsEmpty());
  EXPECT_THAT(taints(test::node("n").taint("node.kubernetes.io/not-ready", "PreferNoSchedule")),
              ElementsAre("as they are"))
      << "that effect is nobody's but the administrator's";
  EXPECT_THAT(taints(test::node("n")
                         .condition("Ready", "Unknown")
                         .taint("node.kubernetes.io/not-ready", "NoSchedule")),
              ElementsAre("node.kubernetes.io/unreachable:NoSchedule",
                          "node.kubernetes.io/unreachable:NoExecute"));
}

TEST(DemandedTaints, AStandingOneKeepsItsTime) {
  auto node = *test::node("n").not_ready().build();
  const TimePoint before = kNow - Duration::minutes(5);
  node.taints = {{.key = std::string(kNotReadyTaint),
                  .value = "",
                  .effect = "NoExecute",
                  .time_added = before}};
  const auto demanded = demanded_taints(node, kNow);
  ASSERT_TRUE(demanded.has_value());
  ASSERT_EQ(demanded->size(), 2U);
  EXPECT_EQ((*demanded)[0].time_added, before) << "tolerations run from it";
  EXPECT_EQ((*demanded)[1].time_added, kNow);
  node.taints = *demanded;
  EXPECT_FALSE(demanded_taints(node, kNow + Duration::hours(1)).has_value());
}

TEST(WriteTaints, HaveKubernetesForm) {
  EXPECT_EQ(api::to_json(write_taints(
                {{.key = "a", .value = "x", .effect = "NoSchedule", .time_added = {}},
                 {.key = "b", .value = "", .effect = "NoExecute", .time_added = kNow}})),
            R"([{"key":"a","effect":"NoSchedule","value":"x"},)"
            R"({"key":"b","effect":"NoExecute","timeAdded":"2023-11-14T22:13:20Z"}])");
}

TEST(SilentConditions, BecomeUnknownOnce) {
  const api::Object node = test::node("n")
                               .condition("MemoryPressure", "False")
                               .condition("ExampleCom", "True")
                               .created(kNow - Duration::hours(1))
                               .object();
  const auto silent = silent_conditions(node, kNow);
  ASSERT_TRUE(silent.has_value());
  std::vector<std::string> got;
  for (const auto& condition : *silent) {
    got.push_back(fmt::format("{} {} {}", api::string_at(condition, "type"),
                              api::string_at(condition, "status"),
                              api::string_at(condition, "reason")));
  }
  EXPECT_THAT(got, ElementsAre("Ready Unknown NodeStatusUnknown",
                               "MemoryPressure Unknown NodeStatusUnknown", "ExampleCom True ",
                               "DiskPressure Unknown NodeStatusNeverUpdated",
                               "PIDPressure Unknown NodeStatusNeverUpdated"));
  EXPECT_EQ(api::string_at(silent->at(3), "lastHeartbeatTime"), "2023-11-14T21:13:20Z");
  const api::Object written = node.edit(
      [&](api::json::object& document) { document["status"].as_object()["conditions"] = *silent; });
  EXPECT_FALSE(silent_conditions(written, kNow + Duration::hours(1)).has_value());
}

} // namespace
} // namespace berth::controllers
