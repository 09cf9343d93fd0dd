// berth run --scheduler-config, whole: profiles place their own pods, the report names them, and a
// bad file stops the run before it starts.
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/testing/berth_run.h"
#include "berth/testing/golden_text.h"
#include "berth/testing/temp_files.h"

namespace berth::cli {
namespace {

using test::berth_run;
using test::Outcome;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
namespace fs = std::filesystem;
namespace json = boost::json;

class SchedulerConfigFlag : public test::TempFiles {
 protected:
  std::string config(const std::string& body) {
    return write("scheduler.yaml", "apiVersion: kubescheduler.config.k8s.io/v1\n"
                                   "kind: KubeSchedulerConfiguration\n" +
                                       body);
  }
  std::string pods(const std::string& prefix, int count, const std::string& spec) {
    std::string text;
    for (int i = 0; i < count; ++i) {
      text += "apiVersion: v1\nkind: Pod\nmetadata: {name: " + prefix + std::to_string(i) +
              "}\nspec:\n  restartPolicy: Never\n" + spec +
              "  containers:\n  - name: c\n    image: i\n    resources: {limits: {cpu: 8, memory: "
              "32Gi, nvidia.com/gpu: 1}}\n---\n";
    }
    return write(prefix + ".yaml", text);
  }
};

/// Nodes of the pods whose names start so.
std::multiset<std::string> nodes_of(const json::value& report, std::string_view prefix) {
  std::multiset<std::string> nodes;
  for (const json::value& pod : report.at("pods").as_array()) {
    if (pod.at("name").as_string().starts_with(prefix)) {
      nodes.emplace(pod.at("node").as_string());
    }
  }
  return nodes;
}

const std::string kExample = std::string(BERTH_SOURCE_DIR) + "/examples/scheduler/";
const std::vector<std::string> kExampleRun = {"-f",
                                              kExample + "pods.yaml",
                                              "--nodes",
                                              "l40s-pcie-8:2",
                                              "--scheduler-config",
                                              kExample + "scheduler.yaml"};

TEST_F(SchedulerConfigFlag, TheExamplesProfilesPlaceTheirOwnPods) {
  std::vector<std::string> words = kExampleRun;
  words.insert(words.end(), {"-o", "json", "-q"});
  const Outcome o = berth_run(words);
  ASSERT_EQ(o.code, 0) << o.err;
  const json::value report = json::parse(o.out);
  EXPECT_EQ(nodes_of(report, "packed").size(), 4U);
  EXPECT_EQ(nodes_of(report, "packed").count("l40s-pcie-8-1"), 4U) << "one node is filled first";
  EXPECT_EQ(nodes_of(report, "spread").count("l40s-pcie-8-1"), 1U) << "the others go elsewhere";
  EXPECT_EQ(nodes_of(report, "spread").count("l40s-pcie-8-2"), 3U);
  EXPECT_EQ(report.at_pointer("/cluster/scheduler/config").as_string(),
            kExample + "scheduler.yaml");
  EXPECT_EQ(report.at_pointer("/cluster/scheduler/profiles/1/schedulerName").as_string(),
            "gpu-binpack");
  EXPECT_EQ(berth_run(words).out, o.out) << "the same bytes every time";
}

TEST_F(SchedulerConfigFlag, OneFileOfPodsTwoStrategiesTwoPlacements) {
  const std::string file = pods("p", 4, "");
  const auto placed_by = [&](const std::string& strategy) {
    const std::string profile =
        config("profiles:\n- plugins:\n    multiPoint: {disabled: [{name: GpuTopology}]}\n"
               "  pluginConfig:\n  - name: NodeResourcesFit\n    args:\n      scoringStrategy: "
               "{type: " +
               strategy + ", resources: [{name: nvidia.com/gpu, weight: 10}]}\n");
    const Outcome o = berth_run({"-f", file, "--nodes", "l40s-pcie-8:2", "--scheduler-config",
                                 profile, "-o", "json", "-q"});
    EXPECT_EQ(o.code, 0) << o.err;
    return nodes_of(json::parse(o.out), "p");
  };
  EXPECT_THAT(placed_by("LeastAllocated"),
              ElementsAre("l40s-pcie-8-1", "l40s-pcie-8-1", "l40s-pcie-8-2", "l40s-pcie-8-2"));
  EXPECT_THAT(placed_by("MostAllocated"),
              ElementsAre("l40s-pcie-8-1", "l40s-pcie-8-1", "l40s-pcie-8-1", "l40s-pcie-8-1"));
}

TEST_F(SchedulerConfigFlag, TheFirstLinesNameTheProfiles) {
  const Outcome o = berth_run(kExampleRun);
  EXPECT_THAT(o.out, StartsWith("cluster  2 nodes, 16 GPUs: 2 l40s-pcie-8\n"
                                "run      seed 1, virtual time, GPU policy topology\n"
                                "profiles default-scheduler (rules of 1.36), gpu-binpack (rules "
                                "of 1.36); from " +
                                kExample + "scheduler.yaml\n"));
}

TEST_F(SchedulerConfigFlag, TheGuideQuotesTheExample) {
  const std::string guide = testing::read_source_file("docs/scheduler-config.md");
  const std::size_t map = guide.find("GPU MAP");
  ASSERT_NE(map, std::string::npos);
  EXPECT_THAT(berth_run(kExampleRun).out,
              HasSubstr(guide.substr(map, guide.find("...", map) - map)));
}

TEST_F(SchedulerConfigFlag, WithoutItTheReportNamesBerthsOwn) {
  const Outcome o = berth_run({"-f", pods("p", 1, ""), "-o", "json", "-q"});
  EXPECT_EQ(json::serialize(json::parse(o.out).at_pointer("/cluster/scheduler")),
            R"({"config":"","profiles":[{"schedulerName":"default-scheduler","otherNames":)"
            R"(["berth-scheduler","scheduler-plugins-scheduler"],"kubernetesVersion":"1.36"}]})");
  EXPECT_THAT(berth_run({"-f", pods("p", 1, "")}).out, Not(HasSubstr("profiles ")));
}

TEST_F(SchedulerConfigFlag, PodsOfNoProfileAreLeftAlone) {
  const std::string profiles = config("profiles: [{schedulerName: mine}]\n");
  const Outcome o =
      berth_run({"-f", pods("p", 1, ""), "--scheduler-config", profiles, "-o", "json", "-q"});
  EXPECT_EQ(json::parse(o.out).at_pointer("/notRunning/0/code").as_string(), "OTHER_SCHEDULER");
  const Outcome mine = berth_run({"-f", pods("m", 1, "  schedulerName: mine\n"),
                                  "--scheduler-config", profiles, "-o", "json", "-q"});
  EXPECT_EQ(json::parse(mine.out).at_pointer("/pods/0/phase").as_string(), "Succeeded");
}

TEST_F(SchedulerConfigFlag, TheReportSaysWhoseRulesAProfileFollows) {
  const std::string profile = config("profiles: [{kubernetesVersion: \"1.34\"}]\n");
  EXPECT_THAT(berth_run({"-f", pods("p", 1, ""), "--scheduler-config", profile}).out,
              HasSubstr("profiles default-scheduler (rules of 1.34); from " + profile));
}

TEST_F(SchedulerConfigFlag, SaysOnceWhatHasNoEffect) {
  const std::string file = config("leaderElection: {leaderElect: true}\nparallelism: 4\n");
  const Outcome o = berth_run({"-f", pods("p", 1, ""), "--scheduler-config", file, "-q"});
  EXPECT_EQ(o.code, 0);
  EXPECT_THAT(o.err, HasSubstr("note: " + file +
                               ":4:14: parallelism: read, and without effect: one scheduler runs, "
                               "in this process: parallelism, leaderElection\n"));
}

TEST_F(SchedulerConfigFlag, ABadFileStopsTheRun) {
  const std::string bad = config("profiles:\n- plugins: {score: {enabled: [{name: NodeFit}]}}\n");
  const Outcome o = berth_run({"-f", pods("p", 1, ""), "--scheduler-config", bad});
  EXPECT_EQ(o.code, 1);
  EXPECT_EQ(o.out, "");
  EXPECT_THAT(o.err, StartsWith("error: " + bad +
                                ":4:38: profiles[0].plugins.score.enabled[0].name: unknown plugin "
                                "\"NodeFit\""));
  const Outcome missing = berth_run({"-f", pods("p", 1, ""), "--scheduler-config", bad + ".no"});
  EXPECT_EQ(missing.code, 1);
  EXPECT_EQ(missing.err, "error: " + bad + ".no: no such file or directory\n");
  const Outcome as_manifest = berth_run({"-f", bad});
  EXPECT_EQ(as_manifest.code, 1);
  EXPECT_THAT(as_manifest.err, HasSubstr("a KubeSchedulerConfiguration configures a program"));
}

} // namespace
} // namespace berth::cli
