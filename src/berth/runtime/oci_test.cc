#include "berth/runtime/oci.h"

#include <string>
#include <utility>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/cdi/nvidia.h"

namespace berth::runtime {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Pair;
using ::testing::SizeIs;

class Oci : public ::testing::Test {
 protected:
  Oci() {
    const std::vector<cdi::NvidiaGpu> gpus{{.index = 0, .minor = 0, .uuid = "GPU-a"},
                                           {.index = 1, .minor = 1, .uuid = "GPU-b"}};
    EXPECT_TRUE(registry_.put("nvidia", cdi::Registry::kStatic, cdi::nvidia_spec(gpus, {})));
  }
  Result<api::json::object> spec(const ContainerConfig& config) const {
    return make_oci_spec(config, "host", registry_, nvidia_device_number);
  }
  ContainerFacts facts(const ContainerConfig& config) const {
    const auto made = spec(config);
    EXPECT_TRUE(made) << to_string(made.error());
    return made ? facts_of(*made, config) : ContainerFacts();
  }
  static std::vector<std::string> devices(const ContainerFacts& facts) {
    std::vector<std::string> list;
    for (const DeviceNode& device : facts.devices) {
      list.push_back(fmt::format("{} {}{}:{} {}", device.path, device.type, device.major,
                                 device.minor, device.permissions));
    }
    return list;
  }

  cdi::Registry registry_;
};

TEST_F(Oci, APlainContainerHasTheDefaultsAndNoDevices) {
  const auto made = spec({.name = "c", .command = {"sh", "-c"}, .args = {"true"}});
  ASSERT_TRUE(made);
  const api::json::value document(*made);
  EXPECT_EQ(api::to_json(*api::find_path(document, "process.args")), R"(["sh","-c","true"])");
  EXPECT_EQ(api::string_at(document, "hostname"), "host");
  EXPECT_EQ(api::to_json(*api::find_path(document, "linux.resources.devices")),
            R"([{"allow":false,"access":"rwm"}])");
  const ContainerFacts seen = facts_of(*made, {.name = "c"});
  EXPECT_EQ(seen.container, "c");
  EXPECT_THAT(seen.devices, IsEmpty());
  EXPECT_THAT(seen.mounts, IsEmpty());
  EXPECT_THAT(seen.env, Contains(Pair("HOSTNAME", "host")));
}

TEST_F(Oci, EnvironmentMountsAndDevicesOfTheConfiguration) {
  const ContainerFacts seen = facts(
      {.name = "c",
       .envs = {{"A", "1"}, {"B", "x=y"}, {"A", "2"}},
       .mounts = {{.container_path = "/data", .host_path = "/srv", .read_only = true},
                  {.container_path = "/scratch", .host_path = "/tmp"}},
       .devices = {
           {.container_path = "/dev/nvidia0", .host_path = "/dev/nvidia1", .permissions = "rw"}}});
  EXPECT_THAT(seen.env, Contains(Pair("A", "2")));
  EXPECT_THAT(seen.env, Contains(Pair("B", "x=y")));
  EXPECT_THAT(devices(seen), ElementsAre("/dev/nvidia0 c195:1 rw"));
  ASSERT_THAT(seen.mounts, SizeIs(2));
  EXPECT_EQ(seen.mounts[0], (MountPoint{"/srv", "/data", {"rbind", "rprivate", "ro"}}));
  EXPECT_EQ(seen.mounts[1], (MountPoint{"/tmp", "/scratch", {"rbind", "rprivate", "rw"}}));
}

TEST_F(Oci, CdiDevicesComeOverIt) {
  const ContainerFacts seen = facts({.name = "c",
                                     .envs = {{"NVIDIA_VISIBLE_DEVICES", "all"}},
                                     .cdi_devices = {"nvidia.com/gpu=GPU-b"}});
  EXPECT_THAT(seen.cdi_devices, ElementsAre("nvidia.com/gpu=GPU-b"));
  EXPECT_THAT(seen.env, Contains(Pair("NVIDIA_VISIBLE_DEVICES", "void")));
  EXPECT_THAT(devices(seen),
              IsSupersetOf({"/dev/nvidiactl c195:255 rw", "/dev/nvidia1 c195:1 rw"}));
  EXPECT_THAT(devices(seen), ::testing::Not(Contains(::testing::StartsWith("/dev/nvidia0 "))));
}

TEST_F(Oci, AccessIsTheUnionOfWhatIsAllowed) {
  const ContainerFacts seen = facts({.name = "c",
                                     .devices = {{.container_path = "/dev/nvidia0",
                                                  .host_path = "/dev/nvidia0",
                                                  .permissions = "m"}},
                                     .cdi_devices = {"nvidia.com/gpu=0"}});
  EXPECT_THAT(devices(seen), Contains("/dev/nvidia0 c195:0 rwm"));
}

TEST_F(Oci, WhatIsNotThereIsAnError) {
  const auto unresolved = spec({.name = "c", .cdi_devices = {"nvidia.com/gpu=9", "x"}});
  ASSERT_FALSE(unresolved);
  EXPECT_EQ(unresolved.error().message, "unresolvable CDI devices nvidia.com/gpu=9, x");
  const auto missing = spec({.name = "c", .devices = {{"/dev/a", "/dev/kvm", "rw"}}});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message, "failed to stat CDI host device \"/dev/kvm\": no such file "
                                     "or directory: /dev/kvm");
}

TEST(NvidiaDeviceNumber, OfEachFileOfTheDriver) {
  const std::pair<const char*, std::pair<int, int>> known[] = {
      {"/dev/nvidia0", {195, 0}},
      {"/dev/nvidia15", {195, 15}},
      {"/dev/nvidia-caps/nvidia-cap147", {508, 147}},
      {"/dev/nvidiactl", {195, 255}},
      {"/dev/nvidia-modeset", {195, 254}},
      {"/dev/nvidia-uvm", {510, 0}},
      {"/dev/nvidia-uvm-tools", {510, 1}},
  };
  for (const auto& [path, numbers] : known) {
    const auto number = nvidia_device_number(path);
    ASSERT_TRUE(number) << path;
    EXPECT_EQ(number->type, "c");
    EXPECT_EQ(number->major, numbers.first) << path;
    EXPECT_EQ(number->minor, numbers.second) << path;
  }
  for (const char* path : {"/dev/nvidia", "/dev/nvidia-1", "/dev/nvidia1x", "/dev/null", ""}) {
    const auto number = nvidia_device_number(path);
    ASSERT_FALSE(number) << path;
    EXPECT_EQ(number.error().code, Code::NotFound);
  }
}

} // namespace
} // namespace berth::runtime
