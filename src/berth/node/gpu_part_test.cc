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
  const GpuPart eight{.gpu_memory = 8};
  EXPECT_TRUE(parts_fit({.milli = 500}, {.milli = 500}, {}));
  EXPECT_FALSE(parts_fit({.milli = 501}, {.milli = 500}, {}));
  EXPECT_TRUE(parts_fit({.milli = 100, .memory = 9}, {.milli = 100}, eight));
  EXPECT_FALSE(parts_fit({.milli = 100, .memory = 6}, {.milli = 100, .memory = 3}, eight));
  EXPECT_FALSE(parts_fit({}, {.memory = 1}, {})) << "unknown memory is none";
}

TEST(GpuPart, IsReadAsItIsWritten) {
  const GpuPart part{.milli = 125, .memory = 3 * kGiB, .gpu_memory = 80 * kGiB, .init = true};
  EXPECT_EQ(format_parts({.each = part}), "milli=125,memory=3221225472,of=85899345920,init=1");
  const GpuPart vgpu{
      .memory = kGiB, .gpu_memory = 8 * kGiB, .cores = 30, .gpu_cores = 100, .sharers = 10};
  EXPECT_EQ(format_parts({.each = {}, .by_device = {{"GPU-a", part}, {"GPU-b", vgpu}}}),
            "GPU-a:milli=125,memory=3221225472,of=85899345920,init=1;"
            "GPU-b:milli=0,memory=1073741824,of=8589934592,init=0,cores=30,ofcores=100,sharers=10");
  for (const GpuParts& parts :
       {GpuParts(), GpuParts{.each = part}, GpuParts{.each = vgpu},
        GpuParts{.each = {}, .by_device = {{"GPU-a", part}, {"GPU-b", vgpu}}}}) {
    EXPECT_EQ(parse_parts(format_parts(parts)), parts);
  }
  for (const char* text :
       {"", "milli=1", "milli=1001,memory=0,of=0,init=0", "milli=-1,memory=0,of=0,init=0",
        "milli=1,memory=0,of=0,init=2", "milli=1,memory=0,of=0,init=0x", "memory=0,milli=1",
        "milli=0,memory=0,of=0,init=0,cores=1",
        "milli=0,memory=0,of=0,init=0,cores=1,ofcores=1,sharers=0", ":milli=0,memory=0,of=0,init=0",
        "a:milli=0,memory=0,of=0,init=0;a:milli=0,memory=0,of=0,init=0",
        "a:milli=0,memory=0,of=0,init=0;;"}) {
    EXPECT_EQ(parse_parts(text), std::nullopt) << text;
  }
}

TEST(GpuPart, SaysWhatItIs) {
  EXPECT_EQ(to_string(PartUse{.milli = 500}), "500 thousandths");
  EXPECT_EQ(to_string(PartUse{.memory = 4 * kGiB}), "4096 MiB");
  EXPECT_EQ(to_string(PartUse{.milli = 500, .memory = kGiB}), "500 thousandths and 1024 MiB");
  EXPECT_EQ(to_string(PartUse{.memory = kGiB, .cores = 5}), "1024 MiB and 5% of the cores");
  EXPECT_EQ(to_string(PartUse()), "nothing");
}

GpuPart vgpu(std::int64_t memory, int cores, int gpu_cores = 100) {
  return {.memory = memory,
          .gpu_memory = 8 * kGiB,
          .cores = cores,
          .gpu_cores = gpu_cores,
          .sharers = 3};
}

struct VgpuCase {
  std::string name;
  std::vector<std::vector<GpuPart>> others; ///< by pod
  GpuPart wanted;
  std::string lack; ///< "": it fits
};
std::ostream& operator<<(std::ostream& out, const VgpuCase& each) {
  return out << each.name;
}
class Vgpus : public ::testing::TestWithParam<VgpuCase> {};

TEST_P(Vgpus, FitByMemoryCoresAndNumber) {
  PartUse others;
  for (const std::vector<GpuPart>& pod : GetParam().others) {
    others = others + use_of_pod(pod);
  }
  const GpuPart& wanted = GetParam().wanted;
  EXPECT_EQ(parts_fit(others, use_of_pod({&wanted, 1}), wanted), GetParam().lack.empty());
  if (!GetParam().lack.empty()) {
    EXPECT_EQ(lack_of(others, wanted), GetParam().lack);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Hami, Vgpus,
    ::testing::Values(
        VgpuCase{"AllThatIsLeft", {{vgpu(3 * kGiB, 40)}}, vgpu(5 * kGiB, 60), ""},
        VgpuCase{"MemoryIsGone",
                 {{vgpu(3 * kGiB, 0)}, {vgpu(3 * kGiB, 0)}},
                 vgpu(3 * kGiB, 0),
                 "has 2048 MiB left for 3072 MiB"},
        VgpuCase{"CoresAreGone",
                 {{vgpu(kGiB, 80)}},
                 vgpu(kGiB, 30),
                 "has 7168 MiB and 20% of the cores left for 1024 MiB and 30% of the cores"},
        VgpuCase{
            "WithoutCoresWhereAllAreGone", {{vgpu(kGiB, 50), vgpu(kGiB, 50)}}, vgpu(kGiB, 0), ""},
        VgpuCase{"AsManyAsMayBe",
                 {{vgpu(kGiB, 0), vgpu(kGiB, 0)}, {vgpu(kGiB, 0)}},
                 vgpu(kGiB, 0),
                 "is shared by 3 containers, as many as may be"},
        VgpuCase{"AllCoresAreHadAlone",
                 {{vgpu(kGiB, 0)}},
                 vgpu(kGiB, 100),
                 "is wanted with all of its cores, but shared"},
        VgpuCase{"NobodyBesideAllCores", {{vgpu(kGiB, 100)}}, vgpu(kGiB, 0), "is another's alone"},
        VgpuCase{
            "MoreCoresThanThereAreAreShared", {{vgpu(kGiB, 100, 200)}}, vgpu(kGiB, 100, 200), ""},
        VgpuCase{"AnInitContainersEnds",
                 {{[] {
                     GpuPart init = vgpu(6 * kGiB, 0);
                     init.init = true;
                     return init;
                   }(),
                   vgpu(kGiB, 0)}},
                 vgpu(2 * kGiB, 0),
                 ""}),
    [](const auto& each) { return each.param.name; });

TEST(VgpuEnvironment, IsWhatHamisLibraryReads) {
  EXPECT_THAT(vgpu_environment(std::vector{vgpu(kGiB, 30), vgpu(2 * kGiB, 30)}),
              UnorderedElementsAre(Pair("CUDA_DEVICE_MEMORY_LIMIT_0", "1024m"),
                                   Pair("CUDA_DEVICE_MEMORY_LIMIT_1", "2048m"),
                                   Pair("CUDA_DEVICE_SM_LIMIT", "30")));
  EXPECT_THAT(vgpu_environment(std::vector{GpuPart{.milli = 500}}), IsEmpty());
  EXPECT_THAT(vgpu_environment({}), IsEmpty());
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
