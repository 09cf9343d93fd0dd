#include "berth/node/stop_deadlines.h"

#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/testing/builders.h"

namespace berth::node {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const TimePoint kNow = TimePoint::from_unix_seconds(10'000);

class Stopping : public ::testing::Test {
 protected:
  Stopping() {
    for (const char* name : {"main", "side"}) {
      set(name, runtime::ContainerState::Running);
    }
    record_.sandboxes["s"] = {.id = "s"};
  }
  void set(const std::string& name, runtime::ContainerState state) {
    record_.containers[name] = {.id = name, .sandbox_id = "s", .name = name, .state = state};
  }
  std::vector<std::string> orders(Duration grace, TimePoint now = kNow) {
    std::vector<std::string> lines;
    for (const StopOrder& order : deadlines_.orders(make_pod_view(*pod_, record_), grace, now)) {
      EXPECT_EQ(order.id, order.container);
      lines.push_back(fmt::format("{} {}{}", order.container, berth::to_string(order.grace),
                                  order.first ? " first" : ""));
    }
    return lines;
  }

  std::shared_ptr<const model::Pod> pod_ = test::pod("p").sidecar("side").build();
  PodRecord record_;
  StopDeadlines deadlines_;
};

TEST_F(Stopping, EachIsAskedOnce) {
  EXPECT_THAT(orders(Duration::seconds(20)), ElementsAre("main 20s first"));
  EXPECT_THAT(orders(Duration::seconds(20)), IsEmpty());
  set("main", runtime::ContainerState::Exited);
  EXPECT_THAT(orders(Duration::seconds(20)), ElementsAre("side 20s first"));
  set("side", runtime::ContainerState::Exited);
  EXPECT_THAT(orders(Duration::seconds(20)), IsEmpty());
}

TEST_F(Stopping, OnlyLessTimeIsAskedForAgain) {
  EXPECT_THAT(orders(Duration::seconds(20)), ElementsAre("main 20s first"));
  EXPECT_THAT(orders(Duration::seconds(20), kNow + Duration::seconds(5)), IsEmpty());
  EXPECT_THAT(orders(Duration::seconds(15), kNow + Duration::seconds(5)), IsEmpty());
  EXPECT_THAT(orders(Duration::seconds(14), kNow + Duration::seconds(5)), ElementsAre("main 14s"));
  EXPECT_THAT(orders(Duration::seconds(30), kNow + Duration::seconds(6)), IsEmpty());
}

TEST_F(Stopping, ASidecarHasNoMoreThanHalfAMinute) {
  set("main", runtime::ContainerState::Exited);
  EXPECT_THAT(orders(Duration::seconds(300)), ElementsAre("side 30s first"));
}

} // namespace
} // namespace berth::node
