#include "berth/scheduler/scheduler_config.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/api/json.h"
#include "berth/api/yaml.h"
#include "berth/base/assert.h"
#include "berth/testing/control_plane.h"

namespace berth::scheduler {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
namespace fs = std::filesystem;

const std::string kHead =
    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";

const sched::ProfilePlugin* find(const sched::Profile& profile, std::string_view plugin) {
  const auto it = std::ranges::find(profile.plugins, plugin, &sched::ProfilePlugin::name);
  return it == profile.plugins.end() ? nullptr : &*it;
}

TEST(SchedulerConfigFile, AnEmptyOneIsBerthsProfileForOneName) {
  const auto config = read_config(kHead, "sched.yaml", "spread");
  ASSERT_TRUE(config) << to_string(config.error());
  ASSERT_EQ(config->profiles.size(), 1U);
  const sched::Profile& profile = config->profiles[0];
  EXPECT_TRUE(profile.other_names.empty()) << "the file says whose pods it is for";
  ASSERT_NE(find(profile, "Gang"), nullptr);
  EXPECT_EQ(find(profile, "Gang")->points & static_cast<sched::Points>(sched::Point::QueueSort),
            static_cast<sched::Points>(sched::Point::QueueSort));
  EXPECT_EQ(find(profile, "GpuTopology")->args.at("policy"), "spread");
}

TEST(SchedulerConfigFile, PackingPoliciesByEitherName) {
  const auto read = [](std::string_view name, std::string_view args) {
    return read_config(
        fmt::format("{}profiles:\n- plugins:\n    score: {{disabled: [{{name: '*'}}], enabled: "
                    "[{{name: {}, weight: 1000}}]}}\n{}",
                    kHead, name, args),
        "sched.yaml");
  };
  const auto best_fit = read("BestFitScore", "");
  ASSERT_TRUE(best_fit) << to_string(best_fit.error());
  EXPECT_EQ(find(best_fit->profiles[0], "BestFit")->weight, 1000);
  const auto fgd = read("FGDScore", "  pluginConfig:\n  - name: FGDScore\n    args:\n      "
                                    "targetWorkload: {typical: [{cpu: 8, gpuMilli: 500, gpus: 1, "
                                    "count: 3}]}\n");
  ASSERT_TRUE(fgd) << to_string(fgd.error());
  EXPECT_NE(find(fgd->profiles[0], "FGD"), nullptr);
  const auto aimless = read("FGD", "");
  ASSERT_FALSE(aimless);
  EXPECT_THAT(to_string(aimless.error()), HasSubstr("targetWorkload"));
  const auto wrong =
      read("BidPrice", "  pluginConfig:\n  - name: BidPrice\n    args:\n      "
                       "targetWorkload: {typical: [{cpu: 8, gpus: 99, count: 3}]}\n");
  ASSERT_FALSE(wrong);
  EXPECT_THAT(to_string(wrong.error()), HasSubstr("gpus"));
}

TEST(SchedulerConfigFile, CoschedulingIsGang) {
  const auto read = [](const std::string& body) {
    return read_config(kHead +
                           "profiles:\n- plugins:\n    multiPoint: {enabled: [{name: "
                           "Coscheduling}]}\n  pluginConfig:\n  - name: Coscheduling\n    "
                           "args: " +
                           body,
                       "sched.yaml");
  };
  const auto config = read("{kind: CoschedulingArgs, permitWaitingTimeSeconds: 10}\n");
  ASSERT_TRUE(config) << to_string(config.error());
  EXPECT_EQ(find(config->profiles[0], "Gang")->args.at("permitWaitingTimeSeconds"), 10);
  const auto bad = read("{permitWaitingTimeSeconds: soon}\n");
  ASSERT_FALSE(bad);
  EXPECT_EQ(to_string(bad.error()),
            "sched.yaml:8:38: profiles[0].pluginConfig[0].args.permitWaitingTimeSeconds: expected "
            "an integer, got a string: \"soon\"");
}

TEST(SchedulerConfigFile, WhatIsReadStarts) {
  const auto config = read_config(kHead + "podMaxBackoffSeconds: 30\n"
                                          "profiles:\n- schedulerName: a\n- schedulerName: b\n",
                                  "sched.yaml");
  ASSERT_TRUE(config) << to_string(config.error());
  const SchedulerOptions options = options_of(*config);
  EXPECT_EQ(options.queue.max_backoff, Duration::seconds(30));
  test::ControlPlane plane;
  const auto started = Scheduler::start(plane.client, plane.loop, Rng(1), options);
  ASSERT_TRUE(started) << to_string(started.error());
  EXPECT_TRUE((*started)->schedules("b"));
  EXPECT_FALSE((*started)->schedules("default-scheduler"));
}

// ---- files in use
// ---------------------------------------------------------------------------------------

class RealFiles : public testing::Test {
 protected:
  static fs::path shared() {
    const char* given = std::getenv("BERTH_SHARED");
    return fs::path(given != nullptr ? given : BERTH_SOURCE_DIR "/../shared") / "inputs";
  }
  void SetUp() override {
    if (!fs::exists(shared())) {
      GTEST_SKIP() << "no " << shared() << "; set BERTH_SHARED";
    }
  }
  static std::string text_of(const std::string& name) {
    std::ifstream file(shared() / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static Result<sched::SchedulerConfig> read(const std::string& name) {
    return read_config(text_of(name), name);
  }
  static std::string error_of(const std::string& name) {
    const auto config = read(name);
    return config ? "" : to_string(config.error());
  }
  /// The configuration that a knavigator workflow puts into a ConfigMap.
  static std::string error_of_embedded(const std::string& name) {
    const auto documents = api::parse_yaml(text_of(name), name);
    BERTH_ASSERT(documents.has_value(), "a YAML file");
    for (const auto& task : documents->front().value.at("tasks").as_array()) {
      if (task.at("type") == "Configure") {
        const auto& maps = task.at("params").at("configmaps").as_array();
        const auto config = read_config(
            std::string(maps.front().at("data").at("scheduler-config.yaml").as_string()), "map");
        return config ? "" : to_string(config.error());
      }
    }
    return "no configuration in it";
  }
};

TEST_F(RealFiles, CoschedulingLoads) {
  const auto config = read("schedconfig/coscheduling.yaml");
  ASSERT_TRUE(config) << to_string(config.error());
  EXPECT_EQ(find(config->profiles[0], "Gang")->args.at("permitWaitingTimeSeconds"), 10);
  ASSERT_EQ(config->remarks.size(), 1U);
  EXPECT_THAT(config->remarks[0].message, HasSubstr("leaderElection, clientConnection"));
}

TEST_F(RealFiles, PluginsOfSchedulerPluginsLoad) {
  const auto config = read("schedconfig/noderesources.yaml");
  ASSERT_TRUE(config) << to_string(config.error());
  EXPECT_EQ(find(config->profiles[0], "NodeResourcesAllocatable")->args.at("mode"), "Least");
  EXPECT_EQ(error_of_embedded("knavigator/gang-config-combo-coscheduling.yaml"), "");
  // Its apiVersion is too old; the rest is still what files say.
  std::string numa = text_of("schedconfig/nrt.yaml");
  numa.replace(numa.find("v1beta3"), 7, "v1");
  const auto aligned = read_config(numa, "nrt.yaml");
  ASSERT_TRUE(aligned) << to_string(aligned.error());
  EXPECT_NE(find(aligned->profiles[0], "NodeResourceTopologyMatch"), nullptr);
}

TEST_F(RealFiles, OthersAreRefusedForWhatTheyNeed) {
  EXPECT_THAT(error_of("schedconfig/nrt.yaml"),
              AllOf(StartsWith("schedconfig/nrt.yaml:1:13: apiVersion"),
                    HasSubstr("write \"kubescheduler.config.k8s.io/v1\"")));
  EXPECT_THAT(error_of("schedconfig/hkust-fgd.yaml"),
              AllOf(StartsWith("schedconfig/hkust-fgd.yaml:1:13: apiVersion"),
                    HasSubstr("scoringStrategy types of NodeResourcesFit")));
  EXPECT_THAT(error_of("knavigator/gang-config-combo-coscheduling.yaml"),
              HasSubstr("no scheduler configuration"));
  EXPECT_THAT(error_of_embedded("knavigator/nwtopo-network-aware.yaml"),
              StartsWith("map:12:15: profiles[0].plugins.multiPoint.enabled[2].name: unknown "
                         "plugin \"NetworkOverhead\""));
}

} // namespace
} // namespace berth::scheduler
