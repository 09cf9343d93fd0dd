// berth run --explain and --metrics, whole.
#include <fstream>
#include <iterator>

#include <boost/json/parse.hpp>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/testing/berth_run.h"
#include "berth/testing/golden_text.h"
#include "berth/testing/temp_files.h"

namespace berth::cli {
namespace {

using test::berth_run;
using test::Outcome;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
namespace json = boost::json;

class ExplainRun : public test::TempFiles {
 protected:
  std::string pod(const std::string& name, int gpus, const std::string& more = "") {
    return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
           "}\nspec:\n  restartPolicy: Never\n" + more +
           "  containers:\n  - name: c\n    image: i\n    resources: {limits: {nvidia.com/gpu: " +
           std::to_string(gpus) + "}}\n---\n";
  }
  Outcome run(const std::string& text, std::vector<std::string> more) {
    std::vector<std::string> words = {"-f", write("pods.yaml", text), "--nodes", "dgx-h100:2",
                                      "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    return berth_run(words);
  }
};

const std::vector<std::string> kExamples = {"-f",
                                            std::string(BERTH_SOURCE_DIR) + "/examples",
                                            "--nodes",
                                            "dgx-h100:4",
                                            "--nodes",
                                            "l40s-pcie-8:2",
                                            "--quiet",
                                            "--explain",
                                            "embedder",
                                            "--explain",
                                            "sixteen-in-one",
                                            "--explain",
                                            "job/llm-pretrain"};

TEST(Explain, PrintsTheExamplesDecisions) {
  const Outcome o = berth_run(kExamples);
  const std::size_t at = o.out.find("\nDECISION");
  ASSERT_NE(at, std::string::npos) << o.out;
  berth::testing::expect_golden("src/berth/cli/testdata/explain.txt", o.out.substr(at + 1));
}

TEST_F(ExplainRun, SaysOfWhichGpuASliceIsAndWhyThatNode) {
  const std::string cluster = write("cluster.yaml", R"(apiVersion: berth.dev/v1alpha1
kind: Cluster
metadata: {name: cut}
spec:
  nodes:
  - platform: hgx-a100-4
    count: 2
    mig: 1g.10gb=2,3g.40gb=1
    devicePlugin: {version: v1, flags: {migStrategy: mixed}}
)");
  const auto asks = [](std::string_view name, std::string_view profile) {
    return fmt::format(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: {}}}\nspec:\n  containers:\n"
        "  - {{name: c, image: i, resources: {{limits: {{nvidia.com/mig-{}: 1}}}}}}\n"
        "---\n",
        name, profile);
  };
  const Outcome o =
      berth_run({"-f", write("pods.yaml", asks("first", "1g.10gb") + asks("second", "3g.40gb")),
                 "--cluster", cluster, "--quiet", "--explain", "second"});
  EXPECT_THAT(o.out, HasSubstr("Scheduled on hgx-a100-4-1, nvidia.com/mig-3g.40gb 1 of GPU 0\n"));
  EXPECT_THAT(o.out, HasSubstr("hgx-a100-4-1 has 66 more than hgx-a100-4-2: GpuSlices +66\n"));
}

TEST_F(ExplainRun, SaysWhichVgpuAPodOfHamisProfileHas) {
  const std::string cluster = write("cluster.yaml", R"(apiVersion: berth.dev/v1alpha1
kind: Cluster
metadata: {name: shared}
spec:
  nodes:
  - {platform: t4-pcie-1, hami: {deviceSplitCount: 2}}
)");
  const std::string profiles = write("scheduler.yaml", R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
- schedulerName: hami-scheduler
  plugins:
    multiPoint:
      enabled: [{name: Hami}]
      disabled: [{name: GpuTopology}, {name: GpuShare}, {name: GpuSlices}]
  pluginConfig:
  - name: NodeResourcesFit
    args:
      ignoredResources: [nvidia.com/gpu, nvidia.com/gpumem, nvidia.com/gpumem-percentage,
                         nvidia.com/gpucores]
)");
  std::string pods;
  for (const char* name : {"a", "b", "c"}) {
    pods +=
        fmt::format("apiVersion: v1\nkind: Pod\nmetadata: {{name: {}}}\nspec:\n  schedulerName: "
                    "hami-scheduler\n  containers:\n  - {{name: c, image: i, resources: {{limits: "
                    "{{nvidia.com/gpumem: 4000, nvidia.com/gpucores: 30}}}}}}\n---\n",
                    name);
  }
  const Outcome o =
      berth_run({"-f", write("pods.yaml", pods), "--cluster", cluster, "--scheduler-config",
                 profiles, "--quiet", "--explain", "b", "--explain", "c"});
  EXPECT_THAT(o.out, HasSubstr("Scheduled on t4-pcie-1-1, 4000 MiB and 30% of GPU-"));
  EXPECT_THAT(o.out, HasSubstr("didn't have vGPUs with enough memory and cores left"));
}

// docs/decisions.md quotes two of them; a quotation is true or it is not one.
TEST(Explain, TheDocsQuoteThemWordForWord) {
  const std::string docs = berth::testing::read_source_file("docs/decisions.md");
  const std::string golden = berth::testing::read_source_file("src/berth/cli/testdata/explain.txt");
  std::size_t quoted = 0;
  for (std::size_t at = docs.find("\nDECISION"); at != std::string::npos;
       at = docs.find("\nDECISION", at + 1)) {
    const std::size_t end = std::min(docs.find("\n\n", at + 1), docs.find("\n```", at + 1));
    EXPECT_NE(golden.find(docs.substr(at + 1, end - at - 1)), std::string::npos)
        << docs.substr(at + 1, end - at - 1);
    ++quoted;
  }
  EXPECT_EQ(quoted, 2U);
}

TEST(Explain, LeavesTheRunAsItIs) {
  std::vector<std::string> plain(kExamples.begin(), kExamples.begin() + 7);
  const Outcome without = berth_run(plain);
  const Outcome with = berth_run(kExamples);
  EXPECT_EQ(with.code, without.code);
  EXPECT_TRUE(with.out.starts_with(without.out)) << "the same report, and then the decisions";
}

TEST_F(ExplainRun, EachAttemptSaysWhatWokeIt) {
  const Outcome o =
      run(pod("first", 8) + pod("second", 8) + pod("third", 8), {"--explain", "third"});
  EXPECT_EQ(o.code, 0) << o.out << o.err;
  EXPECT_THAT(o.out, AllOf(HasSubstr("DECISION  default/third  attempt 1 of 3 at 0:00:00.000: "
                                     "Unschedulable"),
                           HasSubstr("woken by PodAdd; 0 of 2 nodes fit"),
                           HasSubstr("asks for 8 nvidia.com/gpu, none left"),
                           HasSubstr("attempt 2 at 0:05:30.000, woken by UnschedulableTimeout: the "
                                     "same"),
                           HasSubstr("attempt 3 of 3 at 0:10:00.600: Scheduled on dgx-h100-1"),
                           HasSubstr("woken by AssignedPodDelete; 2 of 2 nodes fit")));
}

TEST_F(ExplainRun, DocumentsHaveTheDecisions) {
  const json::value report = json::parse(run(pod("p", 1), {"--explain", "p", "-o", "json"}).out);
  EXPECT_EQ(report.at_pointer("/decisions/0/name").as_string(), "p");
  EXPECT_EQ(report.at_pointer("/decisions/0/attempts/0/outcome").as_string(), "Scheduled");
  EXPECT_EQ(report.at_pointer("/decisions/0/attempts/0/rows/0/verdict").as_string(), "fits");
  EXPECT_TRUE(json::parse(run(pod("p", 1), {"-o", "json"}).out).at("decisions").as_array().empty());
}

TEST_F(ExplainRun, ANameThatNeverWasIsAnErrorThatSuggestsTheNearest) {
  const Outcome typo = run(pod("trainer", 1), {"--explain", "pod/trainr"});
  EXPECT_EQ(typo.code, 1);
  EXPECT_THAT(
      typo.err,
      HasSubstr("--explain pod/trainr: there was no pod \"trainr\"; did you mean \"trainer\"?"));
  const Outcome job = run(pod("trainer", 1), {"--explain", "job/x"});
  EXPECT_EQ(job.code, 1);
  EXPECT_THAT(job.err, HasSubstr("there was no pod of job \"x\""));
  const Outcome space = run(pod("trainer", 1), {"--explain", "defalt/trainer"});
  EXPECT_THAT(space.err, HasSubstr("did you mean \"default/trainer\"?"));
}

TEST_F(ExplainRun, WhatNamesNoPodIsAUsageError) {
  const Outcome o = run(pod("p", 1), {"--explain", "a/b/c"});
  EXPECT_EQ(o.code, 2);
  EXPECT_THAT(o.err, HasSubstr("--explain a/b/c"));
}

TEST_F(ExplainRun, APodThatWasNeverTriedSaysSo) {
  const Outcome o = run(pod("p", 1, "  schedulingGates: [{name: later}]\n"), {"--explain", "p"});
  EXPECT_THAT(o.out, HasSubstr("default/p: this scheduler never tried it"));
}

TEST_F(ExplainRun, MetricsGoToAFileOrAfterTheReport) {
  const std::string file = write("metrics.txt", "old");
  EXPECT_EQ(run(pod("p", 1), {"--metrics", file}).code, 0);
  std::ifstream written(file);
  const std::string text((std::istreambuf_iterator<char>(written)), {});
  EXPECT_THAT(text,
              AllOf(HasSubstr("scheduler_schedule_attempts_total{profile=\"default-scheduler\","
                              "result=\"scheduled\"} 1\n"),
                    Not(HasSubstr("old"))));
  EXPECT_TRUE(run(pod("p", 1), {"--metrics", "-"}).out.ends_with(text));
  const Outcome o = run(pod("p", 1), {"--metrics", "/nowhere/at/all"});
  EXPECT_EQ(o.code, 1);
  EXPECT_THAT(o.err, HasSubstr("/nowhere/at/all: cannot be written: No such file or directory"));
  EXPECT_THAT(run(pod("p", 1), {"--metrics", "/dev/full"}).err,
              HasSubstr("/dev/full: cannot be written: No space left on device"));
  EXPECT_THAT(run(pod("p", 1), {"--record", "/nowhere/at/all"}).err,
              HasSubstr("/nowhere/at/all: cannot be written: No such file or directory"));
}

} // namespace
} // namespace berth::cli
