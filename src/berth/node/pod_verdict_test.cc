#include "berth/node/pod_verdict.h"

#include <optional>
#include <string>

#include <boost/json/object.hpp>
#include <gtest/gtest.h>

#include "berth/testing/builders.h"

namespace berth::node {
namespace {

TEST(StoredVerdict, IsThatOfAPodThatHasEnded) {
  for (const char* phase : {"Pending", "Running", "", "Unknown"}) {
    EXPECT_FALSE(stored_verdict(*test::pod("p").phase(phase).build())) << phase;
  }
  const auto ended = stored_verdict(*test::pod("p")
                                         .phase("Failed")
                                         .edit([](auto& document) {
                                           document["status"].as_object()["reason"] = "Evicted";
                                           document["status"].as_object()["message"] = "why";
                                         })
                                         .build());
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->phase, "Failed");
  EXPECT_EQ(ended->why, (Reason{"Evicted", "why"}));
}

TEST(StoppedVerdict, IsSuccessOnlyIfAllWorkWasDone) {
  const auto pod = test::pod("p").container("b").sidecar("log").build();
  PodRecord record;
  record.sandboxes["s"] = {.id = "s"};
  const auto add = [&](const std::string& name, int exit_code) {
    record.containers[name] = {.id = name,
                               .sandbox_id = "s",
                               .name = name,
                               .state = runtime::ContainerState::Exited,
                               .exit_code = exit_code};
  };
  EXPECT_EQ(stopped_verdict(make_pod_view(*pod, record)).phase, "Failed");
  add("main", 0);
  add("log", 143);
  EXPECT_EQ(stopped_verdict(make_pod_view(*pod, record)).phase, "Failed") << "b never ran";
  add("b", 143);
  EXPECT_EQ(stopped_verdict(make_pod_view(*pod, record)).phase, "Failed");
  add("b", 0);
  EXPECT_EQ(stopped_verdict(make_pod_view(*pod, record)).phase, "Succeeded");
}

TEST(Verdicts, HaveTheKubeletsWords) {
  EXPECT_EQ(allocation_failure("no").why,
            (Reason{"UnexpectedAdmissionError", "Allocate failed due to no, which is unexpected"}));
  EXPECT_EQ(rejection("OutOfcpu", "text").why, (Reason{"OutOfcpu", "Pod was rejected: text"}));
  EXPECT_EQ(deadline_exceeded().why,
            (Reason{"DeadlineExceeded",
                    "Pod was active on the node longer than the specified deadline"}));
  for (const Verdict& each : {allocation_failure(""), rejection("", ""), deadline_exceeded()}) {
    EXPECT_EQ(each.phase, "Failed");
  }
  const auto pod = test::pod("p")
                       .ns("n")
                       .edit([](auto& document) { document["metadata"].as_object()["uid"] = "u"; })
                       .build();
  EXPECT_EQ(log_name(*pod), "p_n(u)");
}

struct Grace {
  const char* name;
  std::optional<std::int64_t> own;
  std::optional<std::int64_t> deletion;
  std::int64_t want;
};

class Graces : public ::testing::TestWithParam<Grace> {};

TEST_P(Graces, AreTheDeletionsOrThePods) {
  auto builder = test::pod("p");
  builder.edit([&](auto& document) {
    if (GetParam().own) {
      document["spec"].as_object()["terminationGracePeriodSeconds"] = *GetParam().own;
    }
    if (GetParam().deletion) {
      document["metadata"].as_object()["deletionTimestamp"] = "2023-11-14T22:13:20Z";
      document["metadata"].as_object()["deletionGracePeriodSeconds"] = *GetParam().deletion;
    }
  });
  EXPECT_EQ(grace_of(builder.object(), *builder.build()), Duration::seconds(GetParam().want));
}

INSTANTIATE_TEST_SUITE_P(Cases, Graces,
                         ::testing::Values(Grace{"Default", {}, {}, 30}, Grace{"Own", 90, {}, 90},
                                           Grace{"Deletion", 90, 5, 5},
                                           Grace{"AtLeastOne", 0, {}, 1},
                                           Grace{"DeletionAtLeastOne", 90, 0, 1}),
                         [](const auto& test) { return test.param.name; });

} // namespace
} // namespace berth::node
