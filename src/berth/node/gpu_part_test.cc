#include "berth/node/gpu_part.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/testing/builders.h"

namespace berth::node {
namespace {

using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

TEST(GpuPart, InitContainersRunBeforeTheOthers) {
  const std::vector<GpuPart> parts = {
      {.milli = 300}, {.milli = 900, .memory = 1, .init = true}, {.milli = 200, .memory = 4}};
  EXPECT_EQ(use_of_pod(parts), (PartUse{.milli = 900, .memory = 4}));
  EXPECT_EQ(use_of_pod({}), PartUse());
}

TEST(GpuPart, FitsByThousandthsAndByMemoryThatIsAskedFor) {
  EXPECT_TRUE(parts_fit({.milli = 500}, {.milli = 500}, 0));
  EXPECT_FALSE(parts_fit({.milli = 501}, {.milli = 500}, 0));
  EXPECT_TRUE(parts_fit({.milli = 100, .memory = 9}, {.milli = 100}, 8));
  EXPECT_FALSE(parts_fit({.milli = 100, .memory = 6}, {.milli = 100, .memory = 3}, 8));
  EXPECT_FALSE(parts_fit({}, {.memory = 1}, 0)) << "unknown memory is none";
}

TEST(GpuPart, IsReadAsItIsWritten) {
  const GpuPart part{.milli = 125, .memory = 3 * kGiB, .gpu_memory = 80 * kGiB, .init = true};
  EXPECT_EQ(format_part(part), "milli=125,memory=3221225472,of=85899345920,init=1");
  EXPECT_EQ(parse_part(format_part(part)), part);
  EXPECT_EQ(parse_part(format_part({})), GpuPart());
  for (const char* text :
       {"", "milli=1", "milli=1001,memory=0,of=0,init=0", "milli=-1,memory=0,of=0,init=0",
        "milli=1,memory=0,of=0,init=2", "milli=1,memory=0,of=0,init=0x", "memory=0,milli=1"}) {
    EXPECT_EQ(parse_part(text), std::nullopt) << text;
  }
}

TEST(GpuPart, SaysWhatItIs) {
  EXPECT_EQ(to_string(PartUse{.milli = 500}), "500 thousandths");
  EXPECT_EQ(to_string(PartUse{.memory = 4 * kGiB}), "4096 MiB");
  EXPECT_EQ(to_string(PartUse{.milli = 500, .memory = kGiB}), "500 thousandths and 1024 MiB");
}

TEST(PartEnvironment, KaisFractionIsTold) {
  const auto pod = test::pod("p").annotation(model::kGpuFraction, "0.25").build();
  EXPECT_THAT(part_environment(*pod, "main", {.milli = 250}, {}, "3"),
              UnorderedElementsAre(Pair("GPU_PORTION", "0.25"), Pair("RUNAI_NUM_OF_GPUS", "0.25")));
}

TEST(PartEnvironment, KaisMemoryIsTheFractionThatItComesTo) {
  const auto pod = test::pod("p").annotation(model::kGpuMemoryMib, "4096").build();
  EXPECT_THAT(
      part_environment(*pod, "main", {.memory = 4 * kGiB, .gpu_memory = 16 * kGiB}, {}, "0"),
      UnorderedElementsAre(Pair("GPU_PORTION", "0.25"), Pair("RUNAI_NUM_OF_GPUS", "0.25")));
  EXPECT_THAT(part_environment(*pod, "main", {.memory = 4 * kGiB}, {}, "0"), IsEmpty());
}

TEST(PartEnvironment, GpushareUnitsAreTheContainersAndThePods) {
  auto builder = test::pod("p").extended(model::kAliyunGpuMem, "3");
  builder.container("b").extended(model::kAliyunGpuMem, "2").container("c");
  const auto pod = builder.build();
  const model::ShareableGpus node{.gpus = 2, .memory = 15 * kGiB, .memory_unit = kGiB};
  EXPECT_THAT(part_environment(*pod, "b", {.memory = 2 * kGiB}, node, "1"),
              UnorderedElementsAre(
                  Pair("ALIYUN_COM_GPU_MEM_IDX", "1"), Pair("ALIYUN_COM_GPU_MEM_POD", "5"),
                  Pair("ALIYUN_COM_GPU_MEM_CONTAINER", "2"), Pair("ALIYUN_COM_GPU_MEM_DEV", "15")));
  EXPECT_THAT(part_environment(*pod, "c", {}, node, "1"), IsEmpty());
}

} // namespace
} // namespace berth::node
