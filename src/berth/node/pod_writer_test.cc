#include "berth/node/pod_writer.h"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/log.h"
#include "berth/client/faulty_client.h"
#include "berth/testing/builders.h"
#include "berth/testing/control_plane.h"

namespace berth::node {
namespace {

namespace json = boost::json;
using test::ControlPlane;
using ::testing::IsEmpty;

const api::Key kKey{"default", "p"};

class Writing : public ::testing::Test {
 protected:
  Writing() { set_log_level(LogLevel::Off); }
  ~Writing() override { set_log_level(LogLevel::Warn); }

  static json::object status(std::string_view phase) {
    return {{"phase", std::string(phase)}, {"hostIP", "10.0.0.1"}};
  }
  /// Whatever others wrote.
  static MakeStatus always(json::object status) {
    return [status = std::move(status)](const json::value*) { return status; };
  }
  std::string phase() const { return stored_phase(plane_.find(client::kPods, kKey)); }
  static std::string stored_phase(const api::Object& pod) {
    return pod ? std::string(api::string_at(pod.json(), "status.phase")) : "gone";
  }
  std::unique_ptr<PodWriter> writer_of(api::Object pod) {
    return std::make_unique<PodWriter>(
        plane_.loop, line_, std::move(pod),
        PodWriterEvents{.on_object = [this](const api::Object& seen) { seen_.push_back(seen); },
                        .on_gone = [this] { ++gone_; }});
  }
  void run(Duration span) { plane_.run_for(span); }

  ControlPlane plane_;
  client::FaultyClient line_{plane_.client, plane_.loop, Rng(1), {}};
  api::Object pod_ = plane_.create(test::pod("p").on_node("n1"));
  std::vector<api::Object> seen_;
  int gone_ = 0;
  std::unique_ptr<PodWriter> writer_ = writer_of(pod_);
};

TEST_F(Writing, ReplacesTheStatusAndTellsTheNewVersion) {
  writer_->put_status(always(status("Running")));
  EXPECT_FALSE(writer_->clean());
  run(Duration::seconds(1));
  EXPECT_TRUE(writer_->clean());
  EXPECT_EQ(phase(), "Running");
  ASSERT_FALSE(seen_.empty());
  EXPECT_EQ(stored_phase(seen_.back()), "Running");

  json::object smaller{{"phase", "Running"}};
  writer_->put_status(always(smaller));
  run(Duration::seconds(1));
  smaller["qosClass"] = "BestEffort"; // told at its creation
  EXPECT_EQ(*api::find(plane_.find(client::kPods, kKey).json(), "status"), json::value(smaller));
}

TEST_F(Writing, TheLatestWishWins) {
  for (const char* phase : {"Pending", "Running", "Failed", "Succeeded"}) {
    writer_->put_status(always(status(phase)));
  }
  run(Duration::seconds(1));
  EXPECT_EQ(phase(), "Succeeded");
}

TEST_F(Writing, AnEqualStatusIsNotWritten) {
  writer_->put_status(always(status("Running")));
  run(Duration::seconds(1));
  const auto version = plane_.find(client::kPods, kKey).meta().resource_version;
  writer_->put_status(always(status("Running")));
  run(Duration::seconds(1));
  EXPECT_EQ(plane_.find(client::kPods, kKey).meta().resource_version, version);
}

// Each way in which a write can come to nothing, after one that was answered: what the object
// looked like after that one must not be taken for the answer to this one.
class Trouble : public Writing, public ::testing::WithParamInterface<client::Faults> {};

TEST_P(Trouble, AWriteThatFailedIsMadeAgain) {
  writer_->put_status(always(status("Running")));
  run(Duration::seconds(1));
  line_.set_faults(GetParam());
  writer_->put_status(always(status("Succeeded")));
  run(Duration::millis(100));
  line_.set_faults({});
  run(Duration::minutes(2));
  EXPECT_EQ(phase(), "Succeeded");
  EXPECT_TRUE(writer_->clean());
}

INSTANTIATE_TEST_SUITE_P(Lines, Trouble,
                         ::testing::Values(client::Faults{.conflict_permille = 1000},
                                           client::Faults{.lost_permille = 1000},
                                           client::Faults{.unanswered_permille = 1000},
                                           client::Faults{.lost_permille = 1000,
                                                          .failed_read_permille = 1000}));

TEST_F(Writing, AConflictIsSolvedWithWhatOthersWrote) {
  plane_.patch(client::kPods, kKey,
               json::object{{"metadata", {{"annotations", {{"by", "someone"}}}}}});
  writer_->put_status(always(status("Running")));
  run(Duration::seconds(1));
  EXPECT_EQ(phase(), "Running");
  EXPECT_EQ(writer_->pod().meta().annotations.at("by"), "someone");
}

TEST_F(Writing, WhatOthersWroteIntoTheStatusMeanwhileIsTheirs) {
  writer_->put_status([](const json::value* stored) {
    json::object next = status("Running");
    if (const json::value* reason = stored ? api::find(*stored, "reason") : nullptr) {
      next["reason"] = *reason;
    }
    return next;
  });
  plane_.patch_status(client::kPods, kKey, json::object{{"reason", "Evicted"}});
  run(Duration::seconds(1));
  const api::Object pod = plane_.find(client::kPods, kKey);
  EXPECT_EQ(stored_phase(pod), "Running");
  EXPECT_EQ(api::string_at(pod.json(), "status.reason"), "Evicted");
  writer_->observe(plane_.patch_status(client::kPods, kKey, json::object{{"reason", "Lost"}}));
  run(Duration::seconds(1));
  EXPECT_EQ(api::string_at(plane_.find(client::kPods, kKey).json(), "status.reason"), "Lost");
  EXPECT_TRUE(writer_->clean());
}

TEST_F(Writing, AStatusThatOthersChangedIsPutRight) {
  writer_->put_status(always(status("Running")));
  run(Duration::seconds(1));
  writer_->observe(plane_.patch_status(client::kPods, kKey, json::object{{"phase", "Failed"}}));
  run(Duration::seconds(1));
  EXPECT_EQ(phase(), "Running");
}

TEST_F(Writing, AnOlderVersionIsIgnored) {
  writer_->put_status(always(status("Running")));
  run(Duration::seconds(1));
  writer_->observe(pod_);
  EXPECT_EQ(stored_phase(writer_->pod()), "Running");
  EXPECT_TRUE(writer_->clean());
}

TEST_F(Writing, TheObjectGoesOnceItsStatusIsWritten) {
  writer_->put_status(always(status("Succeeded")));
  writer_->remove();
  run(Duration::seconds(1));
  EXPECT_EQ(phase(), "gone");
  EXPECT_TRUE(writer_->clean());
  // The status was there before the object went.
  ASSERT_FALSE(seen_.empty());
  EXPECT_EQ(stored_phase(seen_.front()), "Succeeded");
}

TEST_F(Writing, ARemovalThatFailedIsMadeAgain) {
  line_.set_faults({.lost_permille = 1000});
  writer_->remove();
  run(Duration::millis(100));
  EXPECT_FALSE(writer_->clean());
  line_.set_faults({});
  run(Duration::minutes(2));
  EXPECT_EQ(phase(), "gone");
}

TEST_F(Writing, APodThatIsGoneIsTold) {
  plane_.remove(client::kPods, kKey, {.grace_period_seconds = 0});
  writer_->put_status(always(status("Running")));
  run(Duration::seconds(1));
  EXPECT_EQ(gone_, 1);
  EXPECT_TRUE(writer_->clean());
}

TEST_F(Writing, AnotherPodOfTheSameNameIsNotTouched) {
  plane_.remove(client::kPods, kKey, {.grace_period_seconds = 0});
  const api::Object other = plane_.create(test::pod("p").on_node("n1"));
  writer_->put_status(always(status("Succeeded")));
  writer_->remove();
  run(Duration::minutes(1));
  EXPECT_EQ(gone_, 1);
  const api::Object left = plane_.find(client::kPods, kKey);
  ASSERT_TRUE(left);
  EXPECT_EQ(left.bytes(), other.bytes());
}

TEST_F(Writing, ADestroyedWriterWritesNoMore) {
  line_.set_faults({.lost_permille = 1000});
  writer_->put_status(always(status("Running")));
  run(Duration::millis(100));
  line_.set_faults({});
  writer_.reset();
  run(Duration::minutes(2));
  EXPECT_EQ(phase(), "Pending");
  EXPECT_THAT(seen_, IsEmpty());
}

} // namespace
} // namespace berth::node
