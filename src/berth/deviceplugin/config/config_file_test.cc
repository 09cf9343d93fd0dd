#include "berth/deviceplugin/config/config_file.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::deviceplugin {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Config read(std::string_view text) {
  const auto config = read_config_file(text, "config.yaml");
  EXPECT_TRUE(config) << to_string(config.error());
  return config.value_or(Config());
}

TEST(ConfigFile, AnEmptyOneSaysNothing) {
  EXPECT_EQ(read(""), Config());
  EXPECT_EQ(read("version: v1\n"), Config());
  EXPECT_EQ(read("{}"), Config());
  const Config config;
  EXPECT_EQ(config.flags.mig_strategy, inventory::MigStrategy::None);
  EXPECT_TRUE(config.flags.fail_on_init_error);
  EXPECT_EQ(config.flags.nvidia_driver_root, "/");
  EXPECT_EQ(config.flags.plugin.device_list_strategies, (DeviceListStrategies{.envvar = true}));
  EXPECT_EQ(config.flags.plugin.cdi_annotation_prefix, "cdi.k8s.io/");
  EXPECT_EQ(config.flags.gfd.sleep_interval, Duration::seconds(60));
}

constexpr std::string_view kWhole = R"(
version: v1
flags:
  migStrategy: mixed
  failOnInitError: false
  mpsRoot: /run/nvidia/mps
  nvidiaDriverRoot: /run/nvidia/driver
  nvidiaDevRoot: /host
  gdrcopyEnabled: true
  gdsEnabled: true
  mofedEnabled: true
  useNodeFeatureAPI: false
  deviceDiscoveryStrategy: nvml
  plugin:
    passDeviceSpecs: true
    deviceListStrategy: [envvar, cdi-cri]
    deviceIDStrategy: index
    cdiAnnotationPrefix: my/
    nvidiaCTKPath: /opt/nvidia-ctk
    containerDriverRoot: /d
    sharedDevicesAllocationPolicy: packed
  gfd:
    oneshot: true
    noTimestamp: true
    sleepInterval: 1m30s
    outputFile: /out
    machineTypeFile: /machine
sharing:
  timeSlicing:
    renameByDefault: true
    failRequestsGreaterThanOne: true
    requireDistinctDevices: true
    resources:
    - name: nvidia.com/gpu
      replicas: 4
    - name: mig-1g.10gb
      rename: slices
      devices: [0, "0:1", GPU-b1028956-cfa2-0990-bf4a-5da9abb51763]
      replicas: 2
    - name: mig-2g.20gb
      devices: 3
      replicas: 2
imex:
  channelIDs: [0]
  required: true
)";

TEST(ConfigFile, EveryFieldIsRead) {
  const Config config = read(kWhole);
  EXPECT_EQ(config.flags,
            (Flags{.mig_strategy = inventory::MigStrategy::Mixed,
                   .fail_on_init_error = false,
                   .mps_root = "/run/nvidia/mps",
                   .nvidia_driver_root = "/run/nvidia/driver",
                   .nvidia_dev_root = "/host",
                   .gdrcopy_enabled = true,
                   .gds_enabled = true,
                   .mofed_enabled = true,
                   .use_node_feature_api = false,
                   .device_discovery_strategy = DiscoveryStrategy::Nvml,
                   .plugin = {.pass_device_specs = true,
                              .device_list_strategies = {.envvar = true, .cdi_cri = true},
                              .device_id_strategy = DeviceIdStrategy::Index,
                              .cdi_annotation_prefix = "my/",
                              .nvidia_ctk_path = "/opt/nvidia-ctk",
                              .container_driver_root = "/d",
                              .shared_devices_allocation_policy = AllocationPolicy::Packed},
                   .gfd = {.oneshot = true,
                           .no_timestamp = true,
                           .sleep_interval = Duration::seconds(90),
                           .output_file = "/out",
                           .machine_type_file = "/machine"}}));
  ASSERT_TRUE(config.sharing.time_slicing);
  EXPECT_EQ(*config.sharing.time_slicing,
            (SharedResources{
                .rename_by_default = true,
                .fail_requests_greater_than_one = true,
                .require_distinct_devices = true,
                .resources = {{.name = "nvidia.com/gpu",
                               .rename = "nvidia.com/gpu.shared",
                               .devices = {},
                               .replicas = 4},
                              {.name = "nvidia.com/mig-1g.10gb",
                               .rename = "nvidia.com/slices",
                               .devices = {.list = {{"0", "0:1",
                                                     "GPU-b1028956-cfa2-0990-bf4a-5da9abb51763"}}},
                               .replicas = 2},
                              {.name = "nvidia.com/mig-2g.20gb",
                               .rename = "nvidia.com/mig-2g.20gb.shared",
                               .devices = {.count = 3},
                               .replicas = 2}}}));
  EXPECT_EQ(config.imex, (Imex{.channel_ids = {0}, .required = true}));
  EXPECT_THAT(config.remarks, IsEmpty());
}

TEST(ConfigFile, JsonIsAsGood) {
  EXPECT_EQ(read(R"({"version": "v1", "flags": {"migStrategy": "single",
                     "plugin": {"deviceListStrategy": "volume-mounts"}}})"),
            read("flags:\n  migStrategy: single\n  plugin:\n    deviceListStrategy: "
                 "volume-mounts\n"));
}

TEST(ConfigFile, SaysHowManyReplicasAContainerGets) {
  const auto limit = [](const std::string& section) {
    return replica_limit(
        read("sharing:\n  " + section + "    resources:\n    - {name: gpu, replicas: 2}\n")
            .sharing);
  };
  using enum model::ReplicaLimit;
  EXPECT_EQ(replica_limit(Sharing()), ByStrategy);
  EXPECT_EQ(limit("timeSlicing:\n"), ByStrategy);
  EXPECT_EQ(limit("timeSlicing:\n    failRequestsGreaterThanOne: true\n"), OneToAContainer);
  EXPECT_EQ(limit("mps:\n"), OneToAContainer);
  EXPECT_EQ(limit("mps:\n    failRequestsGreaterThanOne: false\n"), None);
}

TEST(ConfigFile, MpsRefusesLargerRequestsUnlessItIsToldNotTo) {
  const std::string resources = "    resources:\n    - {name: gpu, replicas: 2}\n";
  EXPECT_TRUE(read("sharing:\n  mps:\n" + resources).sharing.mps->fail_requests_greater_than_one);
  EXPECT_FALSE(read("sharing:\n  mps:\n    failRequestsGreaterThanOne: false\n" + resources)
                   .sharing.mps->fail_requests_greater_than_one);
  EXPECT_FALSE(read("sharing:\n  timeSlicing:\n" + resources)
                   .sharing.time_slicing->fail_requests_greater_than_one);
}

TEST(ConfigFile, MpsWinsOverTimeSlicing) {
  const Config config = read("sharing:\n  timeSlicing:\n    resources: [{name: gpu, replicas: 2}]\n"
                             "  mps:\n    resources: [{name: gpu, replicas: 3}]\n");
  EXPECT_EQ(config.sharing.strategy(), inventory::Sharing::Mps);
  EXPECT_EQ(config.sharing.resources()->resources.front().replicas, 3);
  EXPECT_THAT(config.remarks, ElementsAre(HasSubstr("sharing.timeSlicing has no effect")));
}

TEST(ConfigFile, WhatHasNoEffectIsSaid) {
  const Config config = read("resources:\n  gpus: [{pattern: '*', name: gpu}]\n"
                             "sharing:\n  timeSlicing:\n    resources:\n"
                             "    - {name: gpu, rename: mine, replicas: 2}\n");
  EXPECT_EQ(config.sharing.time_slicing->resources.front().rename, "");
  EXPECT_THAT(config.remarks,
              ElementsAre("Customizing the 'resources' field is not yet supported in the config. "
                          "Ignoring...",
                          HasSubstr("'rename' of nvidia.com/gpu has no effect without "
                                    "renameByDefault")));
}

struct Wrong {
  const char* name;
  const char* text;
  const char* error;
};

std::ostream& operator<<(std::ostream& out, const Wrong& wrong) {
  return out << wrong.name;
}

class Refused : public ::testing::TestWithParam<Wrong> {};

TEST_P(Refused, WithItsPlace) {
  const auto config = read_config_file(GetParam().text, "c.yaml");
  ASSERT_FALSE(config);
  EXPECT_THAT(to_string(config.error()), HasSubstr(GetParam().error));
}

const Wrong kWrong[] = {
    {"UnknownField", "flags:\n  migStrategie: none\n",
     "c.yaml:2:17: flags.migStrategie: unknown field; did you mean \"migStrategy\"?"},
    {"UnknownVersion", "version: v2\n", "c.yaml:1:10: version: unknown version: v2"},
    {"UnknownMigStrategy", "flags: {migStrategy: both}\n", "unknown MIG strategy: both"},
    {"UnknownListStrategy", "flags: {plugin: {deviceListStrategy: cdi}}\n",
     "invalid --device-list-strategy option: invalid strategy: cdi"},
    {"NoListStrategy", "flags: {plugin: {deviceListStrategy: []}}\n",
     "at least one of [envvar volume-mounts cdi-annotations cdi-cri] is required"},
    {"ListStrategyOfAnotherType", "flags: {plugin: {deviceListStrategy: 3}}\n",
     "invalid deviceListStrategy: 3"},
    {"UnknownIdStrategy", "flags: {plugin: {deviceIDStrategy: name}}\n",
     "invalid --device-id-strategy option: name"},
    {"WrongType", "flags: {failOnInitError: maybe}\n", "flags.failOnInitError: "},
    {"NoResources", "sharing: {timeSlicing: {renameByDefault: true}}\n",
     "c.yaml:1:24: sharing.timeSlicing.resources: no resources specified"},
    {"EmptyResources", "sharing: {mps: {resources: []}}\n", "no resources specified"},
    {"NoName", "sharing: {mps: {resources: [{replicas: 2}]}}\n", "no resource name specified"},
    {"NoReplicas", "sharing: {mps: {resources: [{name: gpu}]}}\n", "no replicas specified"},
    {"OneReplica", "sharing: {mps: {resources: [{name: gpu, replicas: 1}]}}\n",
     "sharing.mps.resources[0].replicas: number of replicas must be >= 2"},
    {"TooManyReplicas", "sharing: {mps: {resources: [{name: gpu, replicas: 1000000}]}}\n",
     "number of replicas must be <= 10000"},
    {"SomeDevices", "sharing: {mps: {resources: [{name: gpu, replicas: 2, devices: some}]}}\n",
     "devices set as 'some' but the only valid string input is 'all'"},
    {"NoDevices", "sharing: {mps: {resources: [{name: gpu, replicas: 2, devices: 0}]}}\n",
     "devices set as '0' but a count of devices must be > 0"},
    {"StrangeDevice", "sharing: {mps: {resources: [{name: gpu, replicas: 2, devices: [x]}]}}\n",
     "unsupported type for device in devices list: \"x\""},
    {"StrangeDevices", "sharing: {mps: {resources: [{name: gpu, replicas: 2, devices: {}}]}}\n",
     "unrecognized type for devices spec: {}"},
    {"LongName",
     "sharing: {mps: {resources: [{name: a123456789012345678901234567890123456789012345678901234,"
     " replicas: 2}]}}\n",
     "fully-qualified resource name must be 63 characters or less: nvidia.com/a1234"},
    {"LongRename",
     "sharing: {mps: {renameByDefault: true, resources: [{name: "
     "a123456789012345678901234567890123456789012345678, replicas: 2}]}}\n",
     "fully-qualified resource name must be 63 characters or less: nvidia.com/a1234"},
    {"NoResourceName", "sharing: {mps: {resources: [{name: GPU, replicas: 2}]}}\n",
     "incorrect format for resource name 'nvidia.com/GPU'"},
    {"TwiceTheSame",
     "sharing: {mps: {resources: [{name: gpu, replicas: 2}, {name: gpu, replicas: 3}]}}\n",
     "resource is listed twice: nvidia.com/gpu"},
    {"PatternWithoutName", "resources: {gpus: [{pattern: '*'}]}\n",
     "resources must have a 'name' field set"},
    {"TwoDocuments", "version: v1\n---\nversion: v1\n", "want one configuration"},
    {"NotAMap", "- version\n", "c.yaml:1:1: "},
    {"NotYaml", "flags: {\n", "c.yaml:"},
};

INSTANTIATE_TEST_SUITE_P(ConfigFile, Refused, ::testing::ValuesIn(kWrong),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(ResourceName, IsPutBelowNvidia) {
  EXPECT_EQ(resource_name("gpu"), "nvidia.com/gpu");
  EXPECT_EQ(resource_name("nvidia.com/gpu.shared"), "nvidia.com/gpu.shared");
  for (const char* name : {"", "a..b", "-a", "a-", ".a", "a.", "a_b", "a/b", "A"}) {
    EXPECT_FALSE(resource_name(name)) << name;
  }
}

} // namespace
} // namespace berth::deviceplugin
