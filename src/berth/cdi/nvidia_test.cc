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
  EXPECT_THAT(hooks,
              ElementsAre("create-symlinks", "update-ldcache", "disable-device-node-modification"));
}

TEST(NvidiaSpec, TheLegacyHookIsToldToKeepOut) {
  EXPECT_THAT(nvidia_spec(dgx(), {}).edits.env, Contains("NVIDIA_VISIBLE_DEVICES=void"));
  EXPECT_THAT(nvidia_spec(dgx(), {.visible_devices = VisibleDevices::FromPlugin}).edits.env,
              Each(::testing::Not(::testing::StartsWith("NVIDIA_VISIBLE_DEVICES"))));
}

TEST(NvidiaSpec, ThePluginsSpecHasUuidsOnly) {
  const Spec spec =
      nvidia_spec(dgx(), {.kind = std::string(kDevicePluginKind), .naming = DeviceNaming::Uuid});
  EXPECT_EQ(spec.kind, "k8s.device-plugin.nvidia.com/gpu");
  EXPECT_THAT(spec.devices, SizeIs(8));
  EXPECT_TRUE(validate(spec));
}

} // namespace
} // namespace berth::cdi
