#include "berth/controllers/node/heartbeat.h"

#include <gtest/gtest.h>

namespace berth::controllers {
namespace {

using Status = HeartbeatRecord::Status;

TimePoint at(std::int64_t seconds) {
  return TimePoint::from_unix_seconds(1'700'000'000) + Duration::seconds(seconds);
}
LeaseFact renewed(std::int64_t seconds) {
  return {.standing = false, .renewed = at(seconds)};
}

// Silent from this second on, if nothing more is heard.
std::int64_t silent_at(const HeartbeatRecord& record, Status status, std::int64_t now) {
  const auto judgement = record.judge({}, status, at(now));
  return judgement.silent ? now : (*judgement.due - at(0)).count_seconds();
}

TEST(Heartbeat, ALeaseIsHeardFromItsRenewal) {
  HeartbeatRecord record;
  record.observe(renewed(0), {}, at(2));
  EXPECT_EQ(silent_at(record, Status::Reported, 2), 40);
  record.observe(renewed(10), {}, at(11));
  EXPECT_EQ(silent_at(record, Status::Reported, 11), 50);
  EXPECT_FALSE(record.judge({}, Status::Reported, at(49)).silent);
  EXPECT_TRUE(record.judge({}, Status::Reported, at(50)).silent);
}

TEST(Heartbeat, SeeingTheSameLeaseAgainIsNoSignOfLife) {
  HeartbeatRecord record;
  for (int now = 0; now < 40; ++now) {
    record.observe(renewed(0), {}, at(now));
  }
  EXPECT_EQ(silent_at(record, Status::Reported, 39), 40);
}

TEST(Heartbeat, AClockAheadDoesNotLendTime) {
  HeartbeatRecord record;
  record.observe(renewed(1'000'000), {}, at(5));
  EXPECT_EQ(silent_at(record, Status::Reported, 5), 45) << "heard when it was seen";
}

TEST(Heartbeat, AnOldLeaseIsSilentAtOnce) {
  HeartbeatRecord record;
  record.observe(renewed(-100), {}, at(0));
  EXPECT_TRUE(record.judge({}, Status::Reported, at(0)).silent);
}

TEST(Heartbeat, ANodeThatNeverReportedGetsLonger) {
  HeartbeatRecord record;
  record.observe({}, {}, at(0));
  EXPECT_EQ(silent_at(record, Status::NeverReported, 0), 60);
  EXPECT_EQ(silent_at(record, Status::Reported, 0), 40);
}

TEST(Heartbeat, TheStatusIsHeardWhenItMoves) {
  HeartbeatRecord record;
  record.observe({}, at(-500), at(0));
  EXPECT_EQ(silent_at(record, Status::Reported, 0), 40) << "an old heartbeat, a full period";
  record.observe({}, at(-500), at(20));
  EXPECT_EQ(silent_at(record, Status::Reported, 20), 40);
  record.observe({}, at(-490), at(30));
  EXPECT_EQ(silent_at(record, Status::Reported, 30), 70) << "it moved, wrong clock or not";
}

TEST(Heartbeat, WithALeaseAnOldStatusAddsNothingAtFirst) {
  HeartbeatRecord record;
  record.observe(renewed(-30), at(-500), at(0));
  EXPECT_EQ(silent_at(record, Status::Reported, 0), 10);
  record.observe(renewed(-30), at(0), at(5));
  EXPECT_EQ(silent_at(record, Status::Reported, 5), 45) << "but a new one does";
}

TEST(Heartbeat, AStandingLeaseIsNeverSilent) {
  HeartbeatRecord record;
  record.observe(LeaseFact{.standing = true, .renewed = at(0)}, {}, at(0));
  const auto judgement = record.judge({}, Status::Reported, at(1'000'000));
  EXPECT_FALSE(judgement.silent);
  EXPECT_FALSE(judgement.due.has_value()) << "and needs no timer";
  record.observe(renewed(1'000'000), {}, at(1'000'001)); // dropped, its end written
  EXPECT_EQ(silent_at(record, Status::Reported, 1'000'001), 1'000'040);
}

} // namespace
} // namespace berth::controllers
