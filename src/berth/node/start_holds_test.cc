#include "berth/node/start_holds.h"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/testing/builders.h"

namespace berth::node {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

const TimePoint kNow = TimePoint::from_unix_seconds(10'000);

TEST(StartHolds, FailuresAreTriedAgainMoreAndMoreSlowly) {
  StartHolds holds;
  std::vector<std::int64_t> waits;
  for (int i = 0; i < 7; ++i) {
    holds.failed("c", kNow);
    waits.push_back((holds.held().at("c") - kNow).count_seconds());
  }
  EXPECT_THAT(waits, ElementsAre(10, 20, 40, 80, 160, 300, 300));
  holds.started("c");
  EXPECT_THAT(holds.held(), IsEmpty());
  holds.failed("c", kNow);
  EXPECT_EQ(holds.held().at("c"), kNow + Duration::seconds(10)) << "a start forgets";
  holds.failed("d", kNow);
  EXPECT_EQ(holds.held().at("d"), kNow + Duration::seconds(10)) << "each has its own";
}

TEST(StartHolds, AReasonIsNewsOnce) {
  StartHolds holds;
  const Reason image{"CreateContainerError", "no such image"};
  EXPECT_TRUE(holds.failed("c", image, kNow));
  EXPECT_FALSE(holds.failed("c", image, kNow));
  EXPECT_TRUE(holds.failed("c", {"CreateContainerError", "no device"}, kNow));
  EXPECT_EQ(holds.waiting().at("c").message, "no device");
  holds.started("c");
  EXPECT_THAT(holds.waiting(), IsEmpty());
}

TEST(StartHolds, WhatWaitsForDevicesIsLetGoWhenTheyChange) {
  StartHolds holds;
  EXPECT_FALSE(holds.devices_changed());
  holds.failed("failed", kNow);
  holds.needs_devices("app", Role::App, "no plugin");
  holds.needs_devices("init", Role::Init, "no plugin");
  EXPECT_EQ(holds.held().at("app"), TimePoint::max());
  EXPECT_EQ(holds.waiting().at("app"),
            (Reason{"ContainerCreating", "waiting for devices: no plugin"}));
  EXPECT_EQ(holds.waiting().at("init"),
            (Reason{"PodInitializing", "waiting for devices: no plugin"}));
  EXPECT_TRUE(holds.devices_changed());
  EXPECT_THAT(holds.held(), ElementsAre(Pair("failed", kNow + Duration::seconds(10))));
}

TEST(StartHolds, WhatIsUnderWayIsLookedAtSoon) {
  StartHolds holds;
  holds.under_way(StartHolds::kSandbox, kNow);
  EXPECT_EQ(holds.held().at(""), kNow + Duration::seconds(1));
  EXPECT_THAT(holds.waiting(), IsEmpty());
}

TEST(StartHolds, APodThatIsNotAdmittedSaysSoInEveryAppContainer) {
  StartHolds holds;
  holds.not_admitted(*test::pod("p").container("b").init_container("i").build(), "busy");
  EXPECT_THAT(holds.waiting(),
              ElementsAre(Pair("b", Reason{"ContainerCreating", "waiting for devices: busy"}),
                          Pair("main", Reason{"ContainerCreating", "waiting for devices: busy"})));
  holds.admitted();
  EXPECT_THAT(holds.waiting(), IsEmpty());
}

TEST(StartHolds, ABackoffIsShownWhileItLastsAndToldOnce) {
  StartHolds holds;
  const auto pod = test::pod("p").build();
  PodRecord record;
  record.containers["x"] = {.id = "x",
                            .sandbox_id = "s",
                            .name = "main",
                            .attempt = 1,
                            .state = runtime::ContainerState::Exited,
                            .started_at = kNow,
                            .finished_at = kNow,
                            .exit_code = 1};
  record.sandboxes["s"] = {.id = "s"};
  const PodView view = make_pod_view(*pod, record);
  EXPECT_THAT(holds.show_backoff(view, kNow), ElementsAre("main"));
  EXPECT_THAT(holds.show_backoff(view, kNow + Duration::seconds(9)), IsEmpty());
  EXPECT_EQ(holds.waiting().at("main").reason, "CrashLoopBackOff");
  EXPECT_EQ(holds.waiting().at("main").message,
            "back-off 10s restarting failed container=main pod=p_default()");
  EXPECT_THAT(holds.show_backoff(view, kNow + Duration::seconds(10)), IsEmpty());
  EXPECT_THAT(holds.waiting(), IsEmpty());
}

TEST(StartHolds, TheEndOfABackoffDoesNotHideAnotherReason) {
  StartHolds holds;
  const auto pod = test::pod("p").build();
  const PodRecord nothing;
  holds.failed("main", {"CreateContainerError", "no"}, kNow);
  EXPECT_THAT(holds.show_backoff(make_pod_view(*pod, nothing), kNow), IsEmpty());
  EXPECT_EQ(holds.waiting().at("main").reason, "CreateContainerError");
}

TEST(StartHolds, AHoldIsShownUntilItsTime) {
  StartHolds holds;
  holds.hold("main", {"ErrImagePull", "no route"}, kNow + Duration::seconds(3));
  EXPECT_EQ(holds.waiting().at("main"), (Reason{"ErrImagePull", "no route"}));
  EXPECT_EQ(holds.held().at("main"), kNow + Duration::seconds(3));
  holds.started("main");
  EXPECT_THAT(holds.waiting(), IsEmpty());
  EXPECT_THAT(holds.held(), IsEmpty());
}

} // namespace
} // namespace berth::node
