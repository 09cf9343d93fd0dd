#include "berth/model/hami.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/testing/builders.h"

namespace berth::model::hami {
namespace {

using test::node;
using test::pod;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<Request> requests(const test::PodBuilder& builder) {
  const auto read = requests_of(*builder.build());
  EXPECT_TRUE(read) << to_string(read.error());
  return read.value_or(std::vector<Request>());
}

TEST(Hami, RequestsAreThoseOfEachContainer) {
  auto builder = pod("p").limit(kGpuResource, "2").limit(kMemory, "3000").limit(kCores, "30");
  builder.container("idle")
      .container("percent")
      .limit(kGpuResource, "1")
      .limit(kMemoryPercentage, "50");
  EXPECT_THAT(requests(builder),
              ElementsAre(Request{.gpus = 2, .memory = 3000, .cores = 30}, Request{},
                          Request{.gpus = 1, .memory_percentage = 50}));
}

TEST(Hami, WhatIsNotSaidIsOneGpuAndAllOfItsMemory) {
  EXPECT_THAT(requests(pod("p").limit(kGpuResource, "1")),
              ElementsAre(Request{.gpus = 1, .memory_percentage = 100}));
  EXPECT_THAT(requests(pod("p").limit(kMemory, "20k")),
              ElementsAre(Request{.gpus = 1, .memory = 20000}));
  EXPECT_THAT(requests(pod("p").cpu("1")), IsEmpty());
}

TEST(Hami, AnAmountThatCannotBeIsRefused) {
  const auto refused = requests_of(*pod("p").limit(kGpuResource, "1").limit(kCores, "101").build());
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message,
              HasSubstr(R"(container "main": nvidia.com/gpucores must be from 0 to 100)"));
}

TEST(Hami, DevicesAreReadInBothForms) {
  const auto devices = devices_of(
      *node("n")
           .annotation(
               kRegister,
               "GPU-a,10,40960,100,NVIDIA-A100,1,true,3,mig:GPU-b,5,16384,100,Tesla T4,0,false:")
           .build());
  EXPECT_THAT(devices, ElementsAre(Device{.uuid = "GPU-a",
                                          .count = 10,
                                          .memory = 40960,
                                          .cores = 100,
                                          .type = "NVIDIA-A100",
                                          .numa = 1,
                                          .index = 3,
                                          .mode = "mig"},
                                   Device{.uuid = "GPU-b",
                                          .count = 5,
                                          .memory = 16384,
                                          .cores = 100,
                                          .type = "Tesla T4",
                                          .healthy = false,
                                          .index = 1}));
  for (const char* text : {"", "GPU-a", "GPU-a,x,1,1,t,0,true:", ",1,1,1,t,0,true:",
                           "GPU-a,1,1,1,t,0,true,0:", "GPU-a,-1,1,1,t,0,true:"}) {
    EXPECT_THAT(devices_of(*node("n").annotation(kRegister, text).build()), IsEmpty()) << text;
  }
}

TEST(Hami, SharesAreReadAsTheyAreWritten) {
  const PodShares shares = {{{.uuid = "GPU-a", .memory = 1000, .cores = 30},
                             {.uuid = "GPU-b", .memory = 1000, .cores = 30}},
                            {},
                            {{.uuid = "GPU-a", .memory = 5, .cores = 0}}};
  EXPECT_EQ(encode_shares(shares),
            "GPU-a,NVIDIA,1000,30:GPU-b,NVIDIA,1000,30:;;GPU-a,NVIDIA,5,0:;");
  EXPECT_EQ(decode_shares(encode_shares(shares)), shares);
  for (const char* text : {"", "GPU-a", "GPU-a;", "GPU-a,NVIDIA,x,1:;", ",NVIDIA,1,1:;"}) {
    EXPECT_EQ(decode_shares(text), std::nullopt) << text;
  }
}

} // namespace
} // namespace berth::model::hami
