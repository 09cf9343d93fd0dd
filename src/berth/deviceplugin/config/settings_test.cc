#include "berth/deviceplugin/config/settings.h"

#include <algorithm>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::deviceplugin {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Variables = std::map<std::string, std::string, std::less<>>;

Lookup from(Variables variables) {
  return [variables = std::move(variables)](std::string_view name) {
    const auto it = variables.find(name);
    return it == variables.end() ? std::nullopt : std::optional(it->second);
  };
}

Config config_of(const ConfigSources& sources) {
  const auto config = make_config(sources);
  EXPECT_TRUE(config) << to_string(config.error());
  return config.value_or(Config());
}

std::string error_of(const ConfigSources& sources) {
  const auto config = make_config(sources);
  return config ? "" : config.error().message;
}

TEST(Settings, AFlagWinsOverTheEnvironmentAndThatOverTheFile) {
  const std::string file = "flags: {migStrategy: single, gdsEnabled: true}\n";
  const Lookup environment = from({{"MIG_STRATEGY", "mixed"}});
  using inventory::MigStrategy;
  EXPECT_EQ(config_of({.file_text = file}).flags.mig_strategy, MigStrategy::Single);
  EXPECT_EQ(config_of({.file_text = file, .environment = environment}).flags.mig_strategy,
            MigStrategy::Mixed);
  const Config all = config_of({.file_text = file,
                                .environment = environment,
                                .flags = {{"--mig-strategy", {"single", "none"}}}});
  EXPECT_EQ(all.flags.mig_strategy, MigStrategy::None) << "the last of several";
  EXPECT_TRUE(all.flags.gds_enabled) << "what nothing overrides stays";
}

TEST(Settings, TheEnvironmentHasNvidiasNames) {
  const Config config =
      config_of({.environment = from({{"FAIL_ON_INIT_ERROR", "false"},
                                      {"NVIDIA_DRIVER_ROOT", "/driver"},
                                      {"MPS_ROOT", "/mps"},
                                      {"PASS_DEVICE_SPECS", "1"},
                                      {"DEVICE_LIST_STRATEGY", "envvar,cdi-cri"},
                                      {"DEVICE_ID_STRATEGY", "index"},
                                      {"CDI_ANNOTATION_PREFIX", "x/"},
                                      {"NVIDIA_CTK_PATH", "/ctk"},
                                      {"CONTAINER_DRIVER_ROOT", "/c"},
                                      {"GDS_ENABLED", "TRUE"},
                                      {"MOFED_ENABLED", "t"},
                                      {"GDRCOPY_ENABLED", "true"},
                                      {"IMEX_CHANNEL_IDS", "0"},
                                      {"IMEX_REQUIRED", "true"},
                                      {"SHARED_DEVICES_ALLOCATION_POLICY", "packed"},
                                      {"DP_DISABLE_HEALTHCHECKS", "48, 74"},
                                      {"MIG_STRATEGY", ""}})});
  EXPECT_FALSE(config.flags.fail_on_init_error);
  EXPECT_EQ(config.flags.nvidia_driver_root, "/driver");
  EXPECT_EQ(config.flags.nvidia_dev_root, "/driver") << "the same where nothing is said";
  EXPECT_EQ(config.flags.mps_root, "/mps");
  EXPECT_EQ(config.flags.plugin,
            (PluginFlags{.pass_device_specs = true,
                         .device_list_strategies = {.envvar = true, .cdi_cri = true},
                         .device_id_strategy = DeviceIdStrategy::Index,
                         .cdi_annotation_prefix = "x/",
                         .nvidia_ctk_path = "/ctk",
                         .container_driver_root = "/c",
                         .shared_devices_allocation_policy = AllocationPolicy::Packed}));
  EXPECT_TRUE(config.flags.gds_enabled && config.flags.mofed_enabled &&
              config.flags.gdrcopy_enabled);
  EXPECT_THAT(config.imex.channel_ids, ElementsAre(0));
  EXPECT_TRUE(config.imex.required);
  EXPECT_THAT(config.health.disabled, ElementsAre(48, 74));
}

TEST(Settings, TheNewerNameOfAVariableWins) {
  EXPECT_EQ(config_of({.environment =
                           from({{"NVIDIA_CTK_PATH", "/old"}, {"NVIDIA_CDI_HOOK_PATH", "/new"}})})
                .flags.plugin.nvidia_ctk_path,
            "/new");
  EXPECT_EQ(config_of({.flags = {{"--nvidia-ctk-path", {"/old"}}}}).flags.plugin.nvidia_ctk_path,
            "/old");
}

TEST(Settings, AListMayBeGivenInParts) {
  EXPECT_EQ(config_of({.flags = {{"--device-list-strategy", {"cdi-cri", "volume-mounts,envvar"}}}})
                .flags.plugin.device_list_strategies,
            (DeviceListStrategies{.envvar = true, .volume_mounts = true, .cdi_cri = true}));
}

TEST(Settings, TheConfigFileIsNamedByFlagOrEnvironment) {
  const Lookup environment = from({{"CONFIG_FILE", "/e"}});
  EXPECT_EQ(config_file_name({}), "");
  EXPECT_EQ(config_file_name({.environment = environment}), "/e");
  EXPECT_EQ(config_file_name({.environment = environment, .flags = {{"--config-file", {"/f"}}}}),
            "/f");
}

TEST(Settings, WhatIsWrongIsNamedBySource) {
  EXPECT_THAT(error_of({.environment = from({{"MIG_STRATEGY", "all"}})}),
              HasSubstr("MIG_STRATEGY: unknown MIG strategy: all"));
  EXPECT_THAT(error_of({.flags = {{"--device-id-strategy", {"name"}}}}),
              HasSubstr("--device-id-strategy: invalid --device-id-strategy option: name"));
  EXPECT_THAT(error_of({.flags = {{"--device-discovery-strategy", {"wsl"}}}}),
              HasSubstr("invalid --device-discovery-strategy option wsl"));
  EXPECT_THAT(error_of({.environment = from({{"GDS_ENABLED", "yes"}})}),
              HasSubstr("GDS_ENABLED: not true or false: yes"));
  EXPECT_THAT(error_of({.environment = from({{"IMEX_CHANNEL_IDS", "0,x"}})}),
              HasSubstr("not a channel's number: x"));
  EXPECT_EQ(error_of({.environment = from({{"IMEX_CHANNEL_IDS", "1,2"}})}),
            "invalid IMEX channel IDs: invalid IMEX config: channelIDs must be [] or [0]; found "
            "[1 2]");
}

// What only the whole configuration shows to be wrong is told where the file says it, unless
// something else said it instead.
TEST(Settings, WhatIsWrongInTheFileIsNamedByItsPlace) {
  const auto place = [](ConfigSources sources) {
    sources.file_name = "config.yaml";
    const auto config = make_config(sources);
    return config || !config.error().where ? std::string() : to_string(*config.error().where);
  };
  const std::string imex = "version: v1\nimex:\n  channelIDs: [1, 2]\n";
  EXPECT_EQ(place({.file_text = imex}), "config.yaml:3:15: imex.channelIDs");
  EXPECT_EQ(place({.file_text = imex, .environment = from({{"IMEX_CHANNEL_IDS", "3"}})}), "");
  EXPECT_EQ(place({.file_text = "sharing:\n  mps: {resources: [{name: gpu, replicas: 2}]}\n"}),
            "config.yaml:2:8: sharing.mps");
}

TEST(Settings, MpsNeedsARootAndNoMixedMig) {
  const std::string file = "sharing: {mps: {resources: [{name: gpu, replicas: 2}]}}\n";
  EXPECT_EQ(error_of({.file_text = file}), "using MPS requires --mps-root to be specified");
  EXPECT_EQ(error_of({.file_text = file,
                      .flags = {{"--mps-root", {"/mps"}}, {"--mig-strategy", {"mixed"}}}}),
            "using --mig-strategy=mixed is not supported with MPS");
  EXPECT_EQ(error_of({.file_text = file, .flags = {{"--mps-root", {"/mps"}}}}), "");
}

TEST(Settings, EveryFlagHasAVariableAndAHelp) {
  for (const SettingName& setting : setting_names()) {
    EXPECT_THAT(setting.flag, ::testing::StartsWith("--"));
    EXPECT_THAT(setting.variables, ::testing::Not(IsEmpty())) << setting.flag;
    EXPECT_FALSE(setting.help.empty()) << setting.flag;
  }
}

} // namespace
} // namespace berth::deviceplugin
