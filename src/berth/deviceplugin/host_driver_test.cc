#include "berth/deviceplugin/host_driver.h"

#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/testing/temp_files.h"

namespace berth::deviceplugin {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A file system as the driver leaves it.
class HostDriver : public berth::test::TempFiles {
 protected:
  void put(const std::string& file, const std::string& text = "") {
    std::filesystem::create_directories(std::filesystem::path(path(file)).parent_path());
    write(file, text);
  }
};

TEST_F(HostDriver, NumbersAndFilesAreThoseOfTheSystem) {
  put("proc/devices", "Character devices:\n195 nvidia\n234 nvidia-caps\n236 nvidia-uvm\n");
  put("proc/driver/nvidia-caps/mig-minors", "gpu0/gi1/access 12\n");
  put("dev/nvidiactl");
  put("dev/nvidia-uvm");
  put("dev/nvidia-fs1");
  put("dev/nvidia-fs0");
  put("dev/infiniband/uverbs0");
  put("dev/infiniband/umad0");
  put("dev/nvidia-caps-imex-channels/channel0");
  const auto nodes = host_driver_nodes(root(), {.channel_ids = {0}});
  ASSERT_TRUE(nodes);
  EXPECT_THAT(nodes->control, ElementsAre("/dev/nvidiactl", "/dev/nvidia-uvm"));
  EXPECT_THAT(nodes->gds, ElementsAre("/dev/nvidia-fs0", "/dev/nvidia-fs1"));
  EXPECT_THAT(nodes->mofed, ElementsAre("/dev/infiniband/uverbs0"));
  EXPECT_THAT(nodes->gdrcopy, IsEmpty());
  EXPECT_EQ(nodes->uvm_major, 236);
  EXPECT_EQ(nodes->caps_major, 234);
  EXPECT_EQ(nodes->mig.gpu_instance(0, 1), 12);
  EXPECT_THAT(nodes->imex_channels, ElementsAre(0));
}

TEST_F(HostDriver, AnAbsentChannelIsLeftOutUnlessItIsRequired) {
  const auto nodes = host_driver_nodes(root(), {.channel_ids = {0}});
  ASSERT_TRUE(nodes);
  EXPECT_THAT(nodes->imex_channels, IsEmpty());
  EXPECT_THAT(nodes->control, IsEmpty());
  const auto required = host_driver_nodes(root(), {.channel_ids = {0}, .required = true});
  ASSERT_FALSE(required);
  EXPECT_THAT(required.error().message, HasSubstr("channel0"));
}

TEST_F(HostDriver, LibrariesOfTheVersionAreFound) {
  put("usr/lib64/libcuda.so.580.1");
  put("usr/lib64/libnvidia-ml.so.580.1");
  put("usr/lib64/libcuda.so.570.9");
  put("usr/lib64/libc.so.6");
  put("usr/lib64/vdpau/libvdpau_nvidia.so.580.1");
  put("usr/bin/nvidia-smi");
  put("lib/firmware/nvidia/580.1/gsp_ga10x.bin");
  put("lib/firmware/nvidia/580.1/readme");
  put("run/nvidia-persistenced/socket");
  const auto found = host_driver_files(root(), "580.1");
  ASSERT_TRUE(found) << to_string(found.error());
  EXPECT_EQ(found->library_dir, "/usr/lib64");
  EXPECT_THAT(found->files.libraries,
              ElementsAre("/usr/lib64/libcuda.so.580.1", "/usr/lib64/libnvidia-ml.so.580.1",
                          "/usr/lib64/vdpau/libvdpau_nvidia.so.580.1"));
  EXPECT_THAT(found->files.tools, ElementsAre("/usr/bin/nvidia-smi"));
  EXPECT_THAT(found->files.firmware, ElementsAre("/lib/firmware/nvidia/580.1/gsp_ga10x.bin"));
  EXPECT_THAT(found->files.sockets, ElementsAre("/run/nvidia-persistenced/socket"));
  EXPECT_EQ(host_driver_files(root(), "999").error().code, Code::NotFound);
}

TEST_F(HostDriver, DisplayNodesAreThoseOfThePciDevice) {
  put("sys/bus/pci/devices/0000:1b:00.0/drm/card1/x");
  put("sys/bus/pci/devices/0000:1b:00.0/drm/renderD129/x");
  EXPECT_THAT(host_drm_nodes(root(), "00000000:1b:00.0"),
              ElementsAre("/dev/dri/card1", "/dev/dri/renderD129"));
  EXPECT_THAT(host_drm_nodes(root(), "00000000:1c:00.0"), IsEmpty());
  EXPECT_THAT(host_drm_nodes(root(), ""), IsEmpty());
}

} // namespace
} // namespace berth::deviceplugin
