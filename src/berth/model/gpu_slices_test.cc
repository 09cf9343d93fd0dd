#include "berth/model/gpu_slices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::model {
namespace {

using ::testing::IsEmpty;

TEST(GpuSlices, OfANodeAreReadAsTheyAreWritten) {
  const NodeSlices slices = {
      {"nvidia.com/gpu.shared", {.kind = SliceKind::Replica, .there = {{0, 4}, {31, 4}}}},
      {"nvidia.com/mig-1g.10gb", {.kind = SliceKind::Mig, .there = {{2, 7}}}},
      {"nvidia.com/mig-2g.20gb", {.kind = SliceKind::Mig, .there = {}}}};
  const std::string text = format_node_slices(slices);
  EXPECT_EQ(text, "nvidia.com/gpu.shared=replicas:0x4,31x4;nvidia.com/mig-1g.10gb=mig:2x7;"
                  "nvidia.com/mig-2g.20gb=mig:");
  EXPECT_EQ(parse_node_slices(text), slices);
  EXPECT_EQ(format_node_slices({}), "");
  EXPECT_THAT(parse_node_slices(""), IsEmpty());
}

TEST(GpuSlices, HowManyReplicasAContainerGetsIsReadAsItIsWritten) {
  const NodeSlices slices = {{"a/gpu", {.limit = ReplicaLimit::OneToAContainer, .there = {{0, 4}}}},
                             {"b/gpu", {.limit = ReplicaLimit::None, .there = {{1, 2}}}},
                             {"c/gpu", {.there = {{2, 2}}}}};
  const std::string text = format_node_slices(slices);
  EXPECT_EQ(text, "a/gpu=one-replica:0x4;b/gpu=many-replicas:1x2;c/gpu=replicas:2x2");
  EXPECT_EQ(parse_node_slices(text), slices);
}

struct LimitedCase {
  const char* name;
  api::Labels labels;
  const char* devices;
  std::vector<std::string> want;
};
std::ostream& operator<<(std::ostream& out, const LimitedCase& each) {
  return out << each.name;
}
class OneReplicaResources : public ::testing::TestWithParam<LimitedCase> {};

TEST_P(OneReplicaResources, AreSaidByTheAgentAndElseByTheSharingStrategy) {
  EXPECT_EQ(one_replica_resources(GetParam().labels,
                                  {{std::string(kGpuDevicesAnnotation), GetParam().devices}}),
            GetParam().want);
}

const api::Labels kMps = {{"a", "mps"}, {"nvidia.com/gpu.sharing-strategy", "mps"}};

INSTANTIATE_TEST_SUITE_P(
    Nodes, OneReplicaResources,
    ::testing::Values(
        LimitedCase{"NothingIsShared", {{"nvidia.com/gpu.sharing-strategy", "none"}}, "", {}},
        LimitedCase{"TimeSlicingGivesMany",
                    {{"nvidia.com/gpu.sharing-strategy", "time-slicing"}},
                    "nvidia.com/gpu=replicas:0x4",
                    {}},
        LimitedCase{"TheAgentSaysOne",
                    {},
                    "nvidia.com/gpu.shared=one-replica:0x4;nvidia.com/mig-1g.10gb=mig:1x7",
                    {"nvidia.com/gpu.shared"}},
        LimitedCase{
            "MpsOfANodeWithoutBerthsAgent", kMps, "", {"nvidia.com/gpu", "nvidia.com/gpu.shared"}},
        LimitedCase{"MpsUnderAnotherName",
                    kMps,
                    "nvidia.com/half=replicas:0x2",
                    {"nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/half"}},
        LimitedCase{"MpsThatIsToldToGiveMany",
                    kMps,
                    "nvidia.com/gpu=many-replicas:0x2",
                    {"nvidia.com/gpu.shared"}},
        LimitedCase{"MigDevicesAreNoReplicas",
                    kMps,
                    "nvidia.com/mig-1g.10gb=mig:0x2",
                    {"nvidia.com/gpu", "nvidia.com/gpu.shared"}}),
    [](const auto& each) { return each.param.name; });

TEST(GpuSlices, OfAPodAreReadAsTheyAreWritten) {
  const ChosenSlices slices = {{"nvidia.com/gpu", {{0, 1}, {3, 2}}}, {"x.com/y", {{1, 1}}}};
  EXPECT_EQ(format_chosen_slices(slices), "nvidia.com/gpu=0x1,3x2;x.com/y=1x1");
  EXPECT_EQ(parse_chosen_slices(format_chosen_slices(slices)), slices);
}

TEST(GpuSlices, NonsenseIsNothing) {
  for (const char* text : {"a", "a=", "=0x1", "a=0x0", "a=32x1", "a=1x1,0x1", "a=0x1,0x1", "a=-1x1",
                           "a=0x1;b", "a=0x99999", "a=0x1x1", "a=0"}) {
    EXPECT_THAT(parse_chosen_slices(text), IsEmpty()) << text;
  }
  for (const char* text : {"a", "a=0x1", "a=gpu:0x1", "=mig:0x1", "a=mig:0x1;b=0x1"}) {
    EXPECT_THAT(parse_node_slices(text), IsEmpty()) << text;
  }
  EXPECT_THAT(slices_of_pod({{"berth.dev/gpu-slices", "a=1x1"}}),
              ::testing::ElementsAre(::testing::Pair("a", CountByGpu{{1, 1}})));
}

} // namespace
} // namespace berth::model
