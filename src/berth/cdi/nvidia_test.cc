#include "berth/cdi/nvidia.h"

#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::cdi {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

// The GPUs of a DGX: eight, minors as indices.
std::vector<NvidiaGpu> dgx() {
  std::vector<NvidiaGpu> gpus;
  for (int i = 0; i < 8; ++i) {
    gpus.push_back({.index = i, .minor = i, .uuid = fmt::format("GPU-{}", i)});
  }
  return gpus;
}

const Device& device(const Spec& spec, std::string_view name) {
  static const Device kNone;
  for (const Device& each : spec.devices) {
    if (each.name == name) {
      return each;
    }
  }
  ADD_FAILURE() << "no device " << name;
  return kNone;
}

std::vector<std::string> nodes(const ContainerEdits& edits) {
  std::vector<std::string> list;
  for (const DeviceNode& node : edits.device_nodes) {
    list.push_back(fmt::format("{} {} {}:{} {}", node.path, node.type, node.major.value_or(-1),
                               node.minor.value_or(-1), node.permissions));
  }
  return list;
}

TEST(NvidiaSpec, IsValidAndAsOldAsItMayBe) {
  const Spec spec = nvidia_spec(dgx(), {});
  EXPECT_TRUE(validate(spec)) << to_string(validate(spec).error());
  EXPECT_EQ(spec.kind, "nvidia.com/gpu");
  EXPECT_EQ(spec.cdi_version, "0.5.0"); // device names that begin with a digit
  EXPECT_EQ(parse_spec(to_json(spec), "f"), spec);
}

TEST(NvidiaSpec, NamesEachGpuByIndexAndByUuidAndAllTogether) {
  const Spec spec = nvidia_spec(dgx(), {});
  std::set<std::string> names;
  for (const Device& each : spec.devices) {
    names.insert(each.name);
  }
  EXPECT_THAT(names, SizeIs(17));
  EXPECT_THAT(names, IsSupersetOf({"0", "7", "GPU-0", "GPU-7", "all"}));
  EXPECT_EQ(device(spec, "3").edits, device(spec, "GPU-3").edits);
  EXPECT_THAT(nodes(device(spec, "3").edits), ElementsAre("/dev/nvidia3 c 195:3 rw"));
  EXPECT_THAT(device(spec, "all").edits.device_nodes, SizeIs(8));
}

TEST(NvidiaSpec, TheMinorNamesTheFileNotTheIndex) {
  const std::vector<NvidiaGpu> gpus{{.index = 0, .minor = 5, .uuid = "GPU-a"}};
  EXPECT_THAT(nodes(device(nvidia_spec(gpus, {}), "0").edits),
              ElementsAre("/dev/nvidia5 c 195:5 rw"));
}

TEST(NvidiaSpec, EveryContainerGetsTheDriversOwnDevices) {
  const Spec spec = nvidia_spec(dgx(), {.uvm_major = 234});
  EXPECT_THAT(nodes(spec.edits),
              UnorderedElementsAre("/dev/nvidiactl c 195:255 rw",
                                   "/dev/nvidia-modeset c 195:254 rw", "/dev/nvidia-uvm c 234:0 rw",
                                   "/dev/nvidia-uvm-tools c 234:1 rw"));
}

TEST(NvidiaSpec, TheDriversFilesAreMountedReadOnlyAtTheirPaths) {
  const Spec spec = nvidia_spec(dgx(), {.driver_version = "1.2.3", .library_dir = "/usr/lib64"});
  std::set<std::string> paths;
  for (const Mount& mount : spec.edits.mounts) {
    EXPECT_EQ(mount.host_path, mount.container_path);
    EXPECT_THAT(mount.options, ElementsAre("ro", "nosuid", "nodev", "rbind", "rprivate"));
    EXPECT_TRUE(paths.insert(mount.container_path).second) << mount.container_path;
  }
  EXPECT_THAT(paths, IsSupersetOf({"/usr/lib64/libcuda.so.1.2.3",
                                   "/usr/lib64/libnvidia-ml.so.1.2.3", "/usr/bin/nvidia-smi"}));
}

TEST(NvidiaSpec, HooksMakeTheLibrariesUsable) {
  std::vector<std::string> hooks;
  for (const Hook& hook : nvidia_spec(dgx(), {}).edits.hooks) {
    EXPECT_EQ(hook.hook_name, "createContainer");
    EXPECT_EQ(hook.path, "/usr/bin/nvidia-cdi-hook");
    EXPECT_THAT(hook.env, IsEmpty()) << "hooks run with a clean environment";
    hooks.push_back(hook.args.at(1));
  }
  EXPECT_THAT(hooks, ElementsAre("create-symlinks", "enable-cuda-compat", "update-ldcache",
                                 "disable-device-node-modification"));
  const Spec unknown = nvidia_spec(dgx(), {.driver_version = ""});
  EXPECT_THAT(unknown.edits.hooks, ::testing::SizeIs(3)) << "compatible with which driver?";
}

TEST(NvidiaSpec, TheLegacyHookIsToldToKeepOut) {
  EXPECT_THAT(nvidia_spec(dgx(), {}).edits.env, Contains("NVIDIA_VISIBLE_DEVICES=void"));
  EXPECT_THAT(nvidia_spec(dgx(), {.visible_devices = VisibleDevices::FromPlugin}).edits.env,
              Each(::testing::Not(::testing::StartsWith("NVIDIA_VISIBLE_DEVICES"))));
}

TEST(NvidiaSpec, ThePluginsSpecHasUuidsOnly) {
  const Spec spec = nvidia_spec(dgx(), {.kind = std::string(kDevicePluginKind),
                                        .naming = {DeviceNaming::Uuid},
                                        .all = AllDevice::LeftOut});
  EXPECT_EQ(spec.kind, "k8s.device-plugin.nvidia.com/gpu");
  EXPECT_THAT(spec.devices, SizeIs(8));
  EXPECT_TRUE(validate(spec));
}

// One GPU cut in two, one whole.
std::vector<NvidiaGpu> cut() {
  return {
      {.index = 0,
       .minor = 0,
       .uuid = "GPU-a",
       .mig = {{.index = 0, .uuid = "MIG-x", .gpu_instance_cap = 12, .compute_instance_cap = 13},
               {.index = 1, .uuid = "MIG-y", .gpu_instance_cap = 21, .compute_instance_cap = 22}}},
      {.index = 1, .minor = 1, .uuid = "GPU-b"}};
}

std::vector<std::string> names(const Spec& spec) {
  std::vector<std::string> list;
  for (const Device& each : spec.devices) {
    list.push_back(each.name);
  }
  return list;
}

TEST(NvidiaSpec, AMigDeviceHasItsGpuAndTheCapabilitiesOfBothItsInstances) {
  const Spec spec = nvidia_spec(cut(), {.caps_major = 237});
  EXPECT_THAT(names(spec), ElementsAre("0:0", "MIG-x", "0:1", "MIG-y", "1", "GPU-b", "all"));
  EXPECT_THAT(nodes(device(spec, "MIG-y").edits),
              ElementsAre("/dev/nvidia0 c 195:0 rw", "/dev/nvidia-caps/nvidia-cap21 c 237:21 rw",
                          "/dev/nvidia-caps/nvidia-cap22 c 237:22 rw"));
  EXPECT_THAT(device(spec, "all").edits.device_nodes, SizeIs(6)) << "the shared GPU once";
  EXPECT_TRUE(validate(spec)) << to_string(validate(spec).error());
}

TEST(NvidiaSpec, AGpuWithMigDevicesIsADeviceOnlyIfItIsAskedFor) {
  EXPECT_THAT(names(nvidia_spec(cut(), {.naming = {DeviceNaming::Uuid},
                                        .all = AllDevice::LeftOut,
                                        .mig_parents = MigParents::Named})),
              ElementsAre("GPU-a", "MIG-x", "MIG-y", "GPU-b"));
}

TEST(NvidiaSpec, TypeAndIndexNameADeviceToo) {
  EXPECT_THAT(
      names(nvidia_spec(cut(), {.naming = {DeviceNaming::TypeIndex}, .all = AllDevice::LeftOut})),
      ElementsAre("mig0:0", "mig0:1", "gpu1"));
}

TEST(NvidiaSpec, ADriverInAContainersRootIsMountedFromThere) {
  const Spec spec =
      nvidia_spec(dgx(), {.files = DriverFiles{.libraries = {"/usr/lib64/libcuda.so.1"},
                                               .tools = {},
                                               .firmware = {"/lib/firmware/nvidia/1/g.bin"},
                                               .sockets = {"/run/nvidia-persistenced/socket"}},
                          .driver_root = "/run/nvidia/driver/",
                          .dev_root = "/run/nvidia/driver",
                          .hook_program = "/usr/bin/nvidia-ctk"});
  ASSERT_THAT(spec.edits.mounts, SizeIs(3));
  EXPECT_EQ(spec.edits.mounts[0].host_path, "/run/nvidia/driver/usr/lib64/libcuda.so.1");
  EXPECT_EQ(spec.edits.mounts[0].container_path, "/usr/lib64/libcuda.so.1");
  EXPECT_THAT(spec.edits.mounts[2].options, Contains("noexec"));
  EXPECT_EQ(spec.edits.device_nodes[0].host_path, "/run/nvidia/driver/dev/nvidiactl");
  EXPECT_EQ(spec.edits.device_nodes[0].path, "/dev/nvidiactl");
  EXPECT_THAT(spec.edits.hooks[2].args, ElementsAre("nvidia-ctk", "hook", "update-ldcache",
                                                    "--folder", "/usr/lib/x86_64-linux-gnu"));
}

TEST(NvidiaSpec, DisplayNodesGoWithTheirGpu) {
  const std::vector<NvidiaGpu> gpus{
      {.index = 0, .minor = 0, .uuid = "GPU-a", .drm_nodes = {"/dev/dri/card1"}}};
  EXPECT_THAT(nodes(device(nvidia_spec(gpus, {}), "0").edits),
              ElementsAre("/dev/nvidia0 c 195:0 rw", "/dev/dri/card1  -1:-1 rw"));
}

} // namespace
} // namespace berth::cdi
