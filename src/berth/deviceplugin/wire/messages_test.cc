// Values go over the wire and come back the same; what no honest peer sends is judged.
#include "berth/deviceplugin/wire/messages.h"

#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/rng.h"
#include "berth/rpc/typed.h"
#include "berth/testing/seeds.h"

namespace berth::deviceplugin {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// As the other side reads it.
template <class Message> Message over_the_wire(const Message& message) {
  return rpc::decode<Message>(message.SerializeAsString()).value();
}

std::string any_text(Rng& rng) {
  static const std::vector<std::string> kTexts{"a",    "GPU-1", "/dev/nvidia0", "rw",
                                               "x::3", "ü",     "A=b,c",        " "};
  return kTexts[rng.below(kTexts.size())] + fmt::to_string(rng.below(100));
}

std::vector<std::string> any_texts(Rng& rng) {
  std::vector<std::string> texts;
  for (std::uint64_t n = rng.below(4); n > 0; --n) {
    texts.push_back(any_text(rng));
  }
  return texts;
}

std::vector<Device> any_devices(Rng& rng) {
  std::vector<Device> devices;
  for (std::uint64_t n = rng.below(5); n > 0; --n) {
    Device& device = devices.emplace_back(Device{.id = any_text(rng), .health = any_text(rng)});
    for (std::uint64_t nodes = rng.below(3); nodes > 0; --nodes) {
      device.numa_nodes.push_back(rng.between(0, 3));
    }
  }
  return devices;
}

ContainerAllocateResponse any_response(Rng& rng) {
  ContainerAllocateResponse response;
  for (const std::string& name : any_texts(rng)) {
    response.envs[name] = any_text(rng);
    response.annotations[any_text(rng)] = name;
    response.mounts.push_back({name, any_text(rng), rng.chance(1, 2)});
    response.devices.push_back({any_text(rng), name, any_text(rng)});
  }
  response.cdi_devices = any_texts(rng);
  return response;
}

class RoundTrip : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  Rng rng_{GetParam()};
};

TEST_P(RoundTrip, KeepsEveryValue) {
  const DevicePluginOptions options{rng_.chance(1, 2), rng_.chance(1, 2)};
  EXPECT_EQ(from_message(over_the_wire(to_message(options))), options);

  const std::vector<Device> devices = any_devices(rng_);
  EXPECT_EQ(from_message(over_the_wire(to_message(devices))).value(), devices);

  const PreferredAllocationRequest question{any_texts(rng_), any_texts(rng_),
                                            static_cast<int>(rng_.below(1000))};
  EXPECT_THAT(from_message(over_the_wire(to_message(question))).value(), ElementsAre(question));
  const std::vector<std::string> preferred = any_texts(rng_);
  EXPECT_EQ(from_message(over_the_wire(preference_message({preferred}))).value(), preferred);

  std::vector<std::vector<std::string>> containers;
  std::vector<ContainerAllocateResponse> responses;
  for (std::uint64_t n = rng_.below(4); n > 0; --n) {
    containers.push_back(any_texts(rng_));
    responses.push_back(any_response(rng_));
  }
  EXPECT_EQ(from_message(over_the_wire(to_message(containers))), containers);
  EXPECT_EQ(from_message(over_the_wire(to_message(responses)), responses.size()).value(),
            responses);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RoundTrip, test::seeds(200));

std::string hex(const std::string& bytes) {
  std::string out;
  for (const char c : bytes) {
    out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  }
  return out;
}

TEST(Wire, NumaNodeZeroIsAnEmptyMessageAndNoTopologyIsNone) {
  const auto bytes = [](std::vector<std::int64_t> numa) {
    return hex(
        to_message(std::vector<Device>{{.id = "g", .health = "", .numa_nodes = std::move(numa)}})
            .SerializeAsString());
  };
  //                            device    ID "g"   topology  node
  EXPECT_EQ(bytes({}), "0a03"
                       "0a0167");
  EXPECT_EQ(bytes({0}), "0a07"
                        "0a0167"
                        "1a02"
                        "0a00");
  EXPECT_EQ(bytes({1}), "0a09"
                        "0a0167"
                        "1a04"
                        "0a020801");

  v1beta1::ListAndWatchResponse message;
  message.add_devices()->set_id("none");
  message.add_devices()->set_id("empty");
  message.mutable_devices(1)->mutable_topology();
  message.add_devices()->set_id("zero");
  message.mutable_devices(2)->mutable_topology()->add_nodes();
  const auto devices = from_message(over_the_wire(message)).value();
  EXPECT_THAT(devices[0].numa_nodes, IsEmpty());
  EXPECT_THAT(devices[1].numa_nodes, IsEmpty());
  EXPECT_THAT(devices[2].numa_nodes, ElementsAre(0));
}

TEST(Wire, FieldNumbersAreTheContracts) {
  v1beta1::RegisterRequest request;
  request.set_version("v");
  request.set_endpoint("e");
  request.set_resource_name("r");
  request.mutable_options()->set_pre_start_required(true);
  request.mutable_options()->set_get_preferred_allocation_available(true);
  EXPECT_EQ(hex(request.SerializeAsString()), "0a0176"
                                              "120165"
                                              "1a0172"
                                              "2204"
                                              "08011001");
  const PreferredAllocationRequest question{{"a"}, {"m"}, 2};
  EXPECT_EQ(hex(to_message(question).SerializeAsString()), "0a08"
                                                           "0a0161"
                                                           "12016d"
                                                           "1802");
  EXPECT_EQ(hex(preference_message({{"a"}}).SerializeAsString()), "0a03"
                                                                  "0a0161");
  EXPECT_EQ(hex(to_message(std::vector<std::vector<std::string>>{{"a"}}).SerializeAsString()),
            "0a03"
            "0a0161");
  const ContainerAllocateResponse response{.envs = {{"k", "v"}},
                                           .mounts = {{"c", "h", true}},
                                           .devices = {{"c", "h", "r"}},
                                           .annotations = {{"k", "v"}},
                                           .cdi_devices = {"n"}};
  EXPECT_EQ(hex(to_message(response).SerializeAsString()),
            "0a06"
            "0a016b"
            "120176" // envs
            "1208"
            "0a0163"
            "120168"
            "1801" // mounts
            "1a09"
            "0a0163"
            "120168"
            "1a0172" // devices
            "2206"
            "0a016b"
            "120176" // annotations
            "2a03"
            "0a016e"); // cdi_devices
}

TEST(Wire, AListLeavesOutWhatNamesNothing) {
  v1beta1::ListAndWatchResponse message;
  message.add_devices()->set_health("Healthy");
  v1beta1::Device& odd = *message.add_devices();
  odd.set_id("a");
  odd.set_health("Perhaps");
  odd.mutable_topology()->add_nodes()->set_id(-1);
  odd.mutable_topology()->add_nodes()->set_id(1);
  const auto devices = from_message(message).value();
  ASSERT_THAT(devices, SizeIs(1));
  EXPECT_EQ(devices[0], (Device{.id = "a", .health = "Perhaps", .numa_nodes = {1}}));
}

TEST(Wire, WhatSaysTooMuchIsRefused) {
  v1beta1::ListAndWatchResponse list;
  for (std::size_t i = 0; i <= kMostDevices; ++i) {
    list.add_devices()->set_id("x");
  }
  EXPECT_THAT(from_message(list).error().message, HasSubstr("a list of 20001 devices"));

  v1beta1::AllocateResponse allocated;
  EXPECT_THAT(from_message(allocated, 1).value(), IsEmpty());
  allocated.add_container_responses();
  EXPECT_THAT(from_message(allocated, 1).value(), SizeIs(1));
  allocated.add_container_responses();
  EXPECT_EQ(from_message(allocated, 1).error().message,
            "the device plugin answered for 2 containers; 1 were asked about");

  v1beta1::PreferredAllocationResponse preferred;
  EXPECT_THAT(from_message(preferred).value(), IsEmpty());
  preferred.add_container_responses();
  preferred.add_container_responses();
  EXPECT_FALSE(from_message(preferred));

  v1beta1::PreferredAllocationRequest question;
  question.add_container_requests()->set_allocation_size(-1);
  EXPECT_THAT(from_message(question).error().message, HasSubstr("-1"));
}

TEST(Wire, BytesThatAreNoTextAreNoName) {
  // Device{ID: 0xff}
  const auto read = rpc::decode<v1beta1::ListAndWatchResponse>("\x0a\x03\x0a\x01\xff");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::Invalid);
}

} // namespace
} // namespace berth::deviceplugin
