#include "berth/controllers/pod_gc/verdict.h"

#include <gtest/gtest.h>

#include "berth/testing/builders.h"

namespace berth::controllers {
namespace {

using Verdict = GarbageVerdict;

enum class Deleted { No, WithGrace, AtOnce };

struct GarbageCase {
  const char* name;
  const char* node;
  const char* phase;
  Deleted deleted;
  PodsNode state;
  Verdict want;
};

class Garbage : public testing::TestWithParam<GarbageCase> {};

TEST_P(Garbage, IsJudged) {
  const GarbageCase& c = GetParam();
  test::PodBuilder pod("p");
  pod.phase(c.phase);
  if (c.node[0] != '\0') {
    pod.on_node(c.node);
  }
  if (c.deleted != Deleted::No) {
    const int grace = c.deleted == Deleted::AtOnce ? 0 : 30;
    pod.deleted(TimePoint::from_unix_seconds(1'700'000'000)).edit([grace](auto& document) {
      document["metadata"].as_object()["deletionGracePeriodSeconds"] = grace;
    });
  }
  EXPECT_EQ(judge_pod(pod.object(), c.state), c.want);
}

INSTANTIATE_TEST_SUITE_P(
    Table, Garbage,
    testing::Values(GarbageCase{"runs", "n", "Running", Deleted::No, PodsNode::Fine, Verdict::Keep},
                    GarbageCase{"being_stopped", "n", "Running", Deleted::WithGrace, PodsNode::Fine,
                                Verdict::Keep},
                    GarbageCase{"waits_for_a_node", "", "Pending", Deleted::No, PodsNode::Fine,
                                Verdict::Keep},
                    GarbageCase{"deleted_before_it_had_one", "", "Pending", Deleted::WithGrace,
                                PodsNode::Fine, Verdict::NeverBound},
                    GarbageCase{"its_node_is_gone", "n", "Running", Deleted::No, PodsNode::Missing,
                                Verdict::NodeGone},
                    GarbageCase{"gone_and_deleted", "n", "Running", Deleted::WithGrace,
                                PodsNode::Missing, Verdict::NodeGone},
                    GarbageCase{"gone_and_done", "n", "Succeeded", Deleted::No, PodsNode::Missing,
                                Verdict::NodeGone},
                    GarbageCase{"out_of_service", "n", "Running", Deleted::No,
                                PodsNode::OutOfService, Verdict::Keep},
                    GarbageCase{"deleted_out_of_service", "n", "Running", Deleted::WithGrace,
                                PodsNode::OutOfService, Verdict::OutOfService},
                    GarbageCase{"held_by_finalizers_alone", "n", "Failed", Deleted::AtOnce,
                                PodsNode::Missing, Verdict::Keep},
                    GarbageCase{"held_without_a_node", "", "Failed", Deleted::AtOnce,
                                PodsNode::Fine, Verdict::Keep}),
    [](const auto& c) { return c.param.name; });

} // namespace
} // namespace berth::controllers
