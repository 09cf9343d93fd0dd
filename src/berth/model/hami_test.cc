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

TEST(Hami, DevicesAreReadAsTheListThatNewerReleasesWrite) {
  const std::vector<Device> devices = {{.uuid = "GPU-a",
                                        .count = 10,
                                        .memory = 12288,
                                        .cores = 100,
                                        .type = "NVIDIA GeForce RTX 3060",
                                        .numa = 1,
                                        .index = 3},
                                       {.uuid = "GPU-b",
                                        .count = 1,
                                        .memory = 5,
                                        .cores = 50,
                                        .type = "T",
                                        .healthy = false,
                                        .mode = "mig"}};
  const std::string text = encode_devices(devices);
  EXPECT_EQ(text,
            R"([{"id":"GPU-a","index":3,"count":10,"devmem":12288,"devcore":100,)"
            R"("type":"NVIDIA GeForce RTX 3060","numa":1,"mode":"hami-core","health":true},)"
            R"({"id":"GPU-b","index":0,"count":1,"devmem":5,"devcore":50,"type":"T","numa":0,)"
            R"("mode":"mig","health":false}])");
  EXPECT_EQ(devices_of(*node("n").annotation(kRegister, text).build()), devices);
  // What is 0, false or empty is left out there.
  EXPECT_THAT(devices_of(*node("n").annotation(kRegister, R"([{"id":"GPU-c","count":2}])").build()),
              ElementsAre(Device{.uuid = "GPU-c", .count = 2, .healthy = false}));
  for (const char* bad : {"[", "[1]", "[{}]", R"([{"id":""}])", R"([{"id":"a","count":-1}])",
                          R"([{"id":"a","devmem":"x"}])", R"([{"id":"a"},{}])", "[]"}) {
    EXPECT_THAT(devices_of(*node("n").annotation(kRegister, bad).build()), IsEmpty()) << bad;
  }
}

TEST(Hami, ItsNodesGiveVgpus) {
  EXPECT_FALSE(shares_gpus(*node("n").gpus(8).build()));
  EXPECT_TRUE(shares_gpus(*node("n").gpus(80).annotation(kRegister, "[]").build()));
}

struct ToGive {
  std::string name;
  test::PodBuilder pod;
  std::string to_allocate;
  std::string allocated;
  std::string want; ///< or a part of the error
};
std::ostream& operator<<(std::ostream& out, const ToGive& each) {
  return out << each.name;
}
class HamiToGive : public ::testing::TestWithParam<ToGive> {};

TEST_P(HamiToGive, IsWhatWasChosen) {
  auto asking = GetParam().pod;
  if (!GetParam().to_allocate.empty()) {
    asking.annotation(kToAllocate, GetParam().to_allocate);
  }
  if (!GetParam().allocated.empty()) {
    asking.annotation(kAllocated, GetParam().allocated);
  }
  const auto shares = shares_to_give(*asking.build());
  EXPECT_THAT(shares ? encode_shares(*shares) : shares.error().message, HasSubstr(GetParam().want));
}

test::PodBuilder one() {
  return pod("p").limit(kGpuResource, "1");
}

INSTANTIATE_TEST_SUITE_P(
    Pods, HamiToGive,
    ::testing::Values(
        ToGive{"ToAllocate", one(), "a,NVIDIA,1,2:;", "b,NVIDIA,1,2:;", "a,NVIDIA,1,2:;"},
        ToGive{"TakenAwayByHamisPlugin", one(), ";", "b,NVIDIA,1,2:;", "b,NVIDIA,1,2:;"},
        ToGive{"NotChosen", one(), "", "", "no vGPUs were chosen for the pod"},
        ToGive{"Nonsense", one(), "a,b", "", "no vGPUs were chosen for the pod"},
        ToGive{"TooMany", one(), "a,NVIDIA,1,2:b,NVIDIA,1,2:;", "",
               "gives container 0 of the pod 2 vGPUs, but it asks for 1"},
        ToGive{"OfNobody", one(), "a,NVIDIA,1,2:;b,NVIDIA,1,2:;", "",
               "gives container 1 of the pod 1 vGPUs, but it asks for 0"},
        ToGive{"WithoutInitContainers",
               [] {
                 auto builder = one();
                 builder.init_container("first");
                 return builder;
               }(),
               "a,NVIDIA,1,2:;", "", ";a,NVIDIA,1,2:;"},
        ToGive{"NothingIsAskedFor", pod("p").cpu("1"), "a,NVIDIA,1,2:;", "", ""}),
    [](const auto& each) { return each.param.name; });

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
