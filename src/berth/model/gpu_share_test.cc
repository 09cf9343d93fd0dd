#include "berth/model/gpu_share.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/model/requests.h"
#include "berth/testing/builders.h"

namespace berth::model {
namespace {

using test::node;
using test::pod;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

Result<GpuShare> share_of(const test::PodBuilder& builder) {
  const auto object = builder.build();
  return gpu_share_of(*object, effective_requests(object->spec));
}

test::PodBuilder asking(std::string_view key, std::string_view value) {
  auto builder = pod("p").cpu("1");
  builder.annotation(key, value);
  return builder;
}

TEST(GpuShare, ReadsAnnotations) {
  auto builder = asking(kGpuMilli, "500");
  builder.annotation(kGpuCount, "2").annotation(kGpuCardModel, "T4|V100M16|");
  builder.annotation(kGpuIndex, "3-1").annotation(kGpuMem, "4Gi");
  const auto share = share_of(builder);
  ASSERT_TRUE(share) << to_string(share.error());
  EXPECT_EQ(share->gpus, 2);
  EXPECT_EQ(share->milli, 500);
  EXPECT_EQ(share->memory, 4 * kGiB);
  EXPECT_THAT(share->models, ElementsAre("T4", "V100M16"));
  EXPECT_THAT(share->indices, ElementsAre(1, 3));
}

TEST(GpuShare, OneGpuUnlessMoreAreAskedFor) {
  EXPECT_EQ(share_of(asking(kGpuMilli, "1000"))->gpus, 1);
  EXPECT_EQ(share_of(asking(kGpuMem, "2Gi"))->gpus, 1);
  EXPECT_EQ(share_of(pod("p").extended(kAliyunGpuMem, "3"))->memory_units, 3);
}

TEST(GpuShare, KaiAsksByFractionOrMemory) {
  EXPECT_EQ(*share_of(asking(kGpuFraction, "0.5")), (GpuShare{.gpus = 1, .milli = 500}));
  EXPECT_EQ(*share_of(asking(kGpuFraction, "0.25").annotation(kGpuFractionDevices, "2")),
            (GpuShare{.gpus = 2, .milli = 250}));
  EXPECT_EQ(*share_of(asking(kGpuMemoryMib, "4096")), (GpuShare{.gpus = 1, .memory = 4 * kGiB}));
  EXPECT_EQ(share_of(asking(kGpuFraction, "0.0001"))->milli, 1) << "never nothing";
}

TEST(GpuShare, NothingAskedIsNoShare) {
  EXPECT_EQ(*share_of(pod("p").gpus(4)), GpuShare());
  EXPECT_EQ(*share_of(asking(kGpuMilli, "0")), GpuShare());
  EXPECT_EQ(*share_of(asking(kGpuCount, "2")), GpuShare()) << "two GPUs, but nothing of them";
}

TEST(GpuShare, RefusesWhatCannotBeMeant) {
  struct Case {
    test::PodBuilder pod;
    std::string_view says;
  };
  const Case cases[] = {
      {asking(kGpuMilli, "half"),
       R"(annotation alibabacloud.com/gpu-milli must be a whole number from 0 to 1000, but is "half")"},
      {asking(kGpuMilli, "1001"), "from 0 to 1000"},
      {asking(kGpuMilli, "-1"), "from 0 to 1000"},
      {asking(kGpuMem, "lots"), R"(an amount of memory such as 4Gi, but is "lots")"},
      {asking(kGpuMilli, "500").annotation(kGpuCount, "33"), "from 0 to 32"},
      {asking(kGpuMilli, "500").gpus(1), "ask for one of the two"},
      {asking(kGpuFraction, "1"), R"(above 0 and below 1 such as 0.5, but is "1")"},
      {asking(kGpuFraction, "nan"), "above 0 and below 1"},
      {asking(kGpuFraction, "0.5").annotation(kGpuMemoryMib, "1"), "exclude each other"},
      {asking(kGpuFraction, "0.5").gpus(1), "ask for one of the two"},
      {asking(kGpuMemoryMib, "4Gi"), "MiB of GPU memory such as 4096"},
  };
  for (const auto& [builder, says] : cases) {
    const auto share = share_of(builder);
    ASSERT_FALSE(share) << says;
    EXPECT_THAT(share.error().message, HasSubstr(std::string(says)));
  }
}

std::vector<ContainerShare> shares_of(const test::PodBuilder& builder) {
  const auto object = builder.build();
  const auto share = share_of(builder);
  EXPECT_TRUE(share);
  const auto shares = container_shares(*object, share.value_or(GpuShare()));
  EXPECT_TRUE(shares) << to_string(shares.error());
  return shares.value_or(std::vector<ContainerShare>());
}

TEST(GpuShare, AnAnnotationsPartIsForTheFirstContainerOrTheOneThatIsNamed) {
  auto builder = asking(kGpuFraction, "0.5");
  builder.init_container("fetch").container("side");
  EXPECT_THAT(shares_of(builder), ElementsAre(ContainerShare{.container = "main", .milli = 500}));
  EXPECT_THAT(shares_of(builder.annotation(kGpuFractionContainer, "side")),
              ElementsAre(ContainerShare{.container = "side", .milli = 500}));
  EXPECT_THAT(shares_of(builder.annotation(kGpuFractionContainer, "fetch")),
              ElementsAre(ContainerShare{.container = "fetch", .milli = 500}));
  builder.annotation(kGpuFractionContainer, "nobody");
  const auto refused = container_shares(*builder.build(), *share_of(builder));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr(R"(names container "nobody")"));
  EXPECT_THAT(shares_of(pod("p").gpus(1)), IsEmpty());
}

TEST(GpuShare, UnitsOfMemoryAreThoseContainersThatAskForThem) {
  auto builder = pod("p").extended(kAliyunGpuMem, "3");
  builder.container("other").container("third").extended(kAliyunGpuMem, "2");
  builder.annotation(kGpuMilli, "100");
  EXPECT_THAT(shares_of(builder),
              ElementsAre(ContainerShare{.container = "main", .milli = 100, .memory_units = 3},
                          ContainerShare{.container = "third", .memory_units = 2}));
}

TEST(GpuShare, IndicesThatMakeNoSenseAreUnknown) {
  for (const std::string_view text : {"a", "0-0", "99", "0,1"}) {
    EXPECT_THAT(share_of(asking(kGpuMilli, "100").annotation(kGpuIndex, text))->indices, IsEmpty())
        << text;
  }
}

TEST(ShareableGpus, FromResourcesAndLabels) {
  auto alibaba = node("n").resource(kGpuCount, "2").resource(kGpuMem, "32Gi");
  alibaba.label(kGpuCardModel, "V100");
  EXPECT_EQ(shareable_gpus(*alibaba.build()),
            (ShareableGpus{.gpus = 2, .memory = 16 * kGiB, .memory_unit = 0, .model = "V100"}));

  auto nvidia = node("n").gpus(8);
  nvidia.label("nvidia.com/gpu.product", "NVIDIA-L40S").label("nvidia.com/gpu.memory", "46068");
  const ShareableGpus l40s = shareable_gpus(*nvidia.build());
  EXPECT_EQ(l40s.gpus, 8);
  EXPECT_EQ(l40s.memory, std::int64_t{46068} << 20);
  EXPECT_EQ(l40s.model, "NVIDIA-L40S");

  EXPECT_EQ(shareable_gpus(*node("n").build()), ShareableGpus());
  auto replicas = node("n").gpus(8).label("nvidia.com/gpu.sharing-strategy", "time-slicing");
  EXPECT_EQ(shareable_gpus(*replicas.build()).gpus, 0) << "eight replicas are no eight GPUs";
  auto cut = node("n").gpus(7).label("nvidia.com/gpu.product", "NVIDIA-H100-MIG-1g.10gb");
  EXPECT_EQ(shareable_gpus(*cut.build()).gpus, 0);
  EXPECT_EQ(shareable_gpus(*node("n").gpus(64).build()), ShareableGpus()) << "more than a mask";
}

TEST(ShareableGpus, AliyunMemoryIsInGibibytesOrMebibytes) {
  const auto gib = node("n").resource(kAliyunGpuCount, "2").resource(kAliyunGpuMem, "30");
  EXPECT_EQ(shareable_gpus(*gib.build()).memory, 15 * kGiB);
  EXPECT_EQ(shareable_gpus(*gib.build()).memory_unit, kGiB);
  const auto mib = node("n").resource(kAliyunGpuCount, "2").resource(kAliyunGpuMem, "32552");
  EXPECT_EQ(shareable_gpus(*mib.build()).memory, std::int64_t{16276} << 20);
}

} // namespace
} // namespace berth::model
