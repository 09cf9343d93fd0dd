// berth run, whole: the demo's exact text, its document, exit codes, equal bytes, bad input, real
// manifests.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
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
using ::testing::AnyOf;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;
namespace json = boost::json;

/// A manifest in a file of its own, gone with the test.
class RunTest : public test::TempFiles {};

std::string pod(const std::string& name, const std::string& gpus, const std::string& more = "") {
  return "apiVersion: v1\nkind: Pod\nmetadata:\n  name: " + name + "\nspec:\n" + more +
         "  containers:\n  - name: c\n    image: i\n    resources: {limits: {nvidia.com/gpu: " +
         gpus + "}}\n---\n";
}

constexpr const char* kOnce = "  restartPolicy: Never\n";

const std::vector<std::string> kDemo = {"-f",      std::string(BERTH_SOURCE_DIR) + "/examples",
                                        "--nodes", "dgx-h100:4",
                                        "--nodes", "l40s-pcie-8:2"};

std::vector<std::string> demo(std::vector<std::string> more) {
  std::vector<std::string> words = kDemo;
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(Demo, PrintsWhatTheReadmeShows) {
  const Outcome o = berth_run(kDemo);
  EXPECT_EQ(o.code, 0) << o.err;
  testing::expect_golden("src/berth/cli/testdata/demo.txt", o.out);
}

// The README quotes the end of the demo; a quotation is true or it is not one.
TEST(Demo, TheReadmeQuotesItWordForWord) {
  const std::string readme = testing::read_source_file("README.md");
  const std::string demo = testing::read_source_file("src/berth/cli/testdata/demo.txt");
  const std::string opening =
      "$ build/release/berth run -f examples/ --nodes dgx-h100:4 --nodes l40s-pcie-8:2\n...\n";
  const std::size_t start = readme.find(opening);
  ASSERT_NE(start, std::string::npos);
  const std::size_t first = start + opening.size();
  const std::size_t end = readme.find("```", first);
  ASSERT_NE(end, std::string::npos);
  const std::string quoted = readme.substr(first, end - first);
  EXPECT_GT(std::ranges::count(quoted, '\n'), 20);
  EXPECT_TRUE(demo.ends_with(quoted)) << "not the end of demo.txt:\n" << quoted;
}

TEST(Demo, TheGangIsPlacedWholeOnNvlinkedNodes) {
  const json::value report = json::parse(berth_run(demo({"-o", "json"})).out);
  const json::value& gang = report.at_pointer("/gangs/0");
  EXPECT_EQ(gang.at("name").as_string(), "llm-pretrain");
  EXPECT_EQ(gang.at("placed").to_number<int>(), 4);
  EXPECT_EQ(gang.at("gpus").to_number<int>(), 32);
  EXPECT_EQ(gang.at("nodes").as_array().size(), 4U);
  EXPECT_GT(gang.at("allReduceMBps").to_number<int>(), 0);
  for (const json::value& p : report.at("pods").as_array()) {
    if (p.at("gang").as_string() == "llm-pretrain") {
      EXPECT_EQ(p.at("gpus").as_array().size(), 8U);
      EXPECT_EQ(p.at("gpuUUIDs").as_array().size(), 8U);
      EXPECT_EQ(p.at("phase").as_string(), "Succeeded");
      EXPECT_FALSE(p.at("containers").as_array().empty());
    }
    if (p.at("name").as_string() == "video-captioner") {
      EXPECT_THAT(std::string(p.at("node").as_string()), HasSubstr("l40s-pcie-8-"));
    }
  }
  EXPECT_EQ(report.at_pointer("/notRunning/0/code").as_string(), "GPU_EXCEEDS_NODE");
  EXPECT_EQ(report.at_pointer("/notRunning/0/alone").as_string(), "never");
}

TEST(Demo, EqualCommandsGiveEqualBytes) {
  for (const char* format : {"text", "wide", "json", "yaml"}) {
    const Outcome first = berth_run(demo({"-o", format, "--seed", "42"}));
    const Outcome second = berth_run(demo({"-o", format, "--seed", "42"}));
    EXPECT_FALSE(first.out.empty());
    EXPECT_TRUE(first.out == second.out) << format;
    EXPECT_EQ(first.err, second.err) << format;
  }
}

TEST(Demo, NeverFittingShowsInTheExitCodeWhenAsked) {
  EXPECT_EQ(berth_run(demo({"--quiet", "--exit-code"})).code, 3);
}

TEST_F(RunTest, ThePodThatCanRunButIsStillWaitingIsAFailure) {
  const std::string file = write("two.yaml", pod("first", "8", kOnce) + pod("second", "8", kOnce));
  const Outcome o =
      berth_run({"-f", file, "--nodes", "dgx-h100:1", "--default-run-for", "forever"});
  EXPECT_EQ(o.code, 1);
  EXPECT_THAT(o.out, HasSubstr("GPU_BUSY"));
  EXPECT_THAT(o.out, HasSubstr("0/1 nodes are available: 1 Insufficient nvidia.com/gpu."));
  EXPECT_EQ(berth_run({"-f", file, "--nodes", "dgx-h100:1"}).code, 0) << "one after the other";
}

TEST_F(RunTest, TheFirstLineUnderAPodIsTheReason) {
  const std::string file = write("p.yaml", pod("p", "16"));
  EXPECT_THAT(berth_run({"-f", file, "--nodes", "dgx-h100:1"}).out,
              HasSubstr("GPU_EXCEEDS_NODE\n"
                        "  can never fit: asks for 16 GPUs on one node, the largest node has 8\n"
                        "  asks for 16 nvidia.com/gpu\n"
                        "  0/1 nodes are available: 1 Insufficient nvidia.com/gpu."));
}

// The cluster is full, and yet the label is what the pod waits for in vain.
TEST_F(RunTest, NeverIsExplainedByTheEmptyCluster) {
  const std::string file =
      write("p.yaml", pod("first", "8", kOnce) +
                          pod("picky", "8", "  nodeSelector: {nvidia.com/gpu.product: none}\n"));
  const json::value report = json::parse(
      berth_run({"-f", file, "--nodes", "dgx-h100:1", "--default-run-for", "forever", "-o", "json"})
          .out);
  EXPECT_EQ(report.at_pointer("/notRunning/0/code").as_string(), "NODE_AFFINITY_MISMATCH");
  EXPECT_EQ(report.at_pointer("/notRunning/0/alone").as_string(), "never");
}

TEST_F(RunTest, UntilEndsARunThatWouldGoOn) {
  const std::string file = write("p.yaml", pod("p", "1", kOnce));
  const Outcome o = berth_run({"-f", file, "--until", "5m", "-o", "json"});
  EXPECT_EQ(o.code, 0);
  const json::value report = json::parse(o.out);
  EXPECT_EQ(report.at_pointer("/result/outcome").as_string(), "time-up");
  EXPECT_EQ(report.at_pointer("/result/simulatedMs").to_number<int>(), 300'000);
  EXPECT_EQ(report.at_pointer("/pods/0/phase").as_string(), "Running");
}

TEST_F(RunTest, ARunningServiceIsSettled) {
  const std::string file = write("p.yaml", pod("p", "1", kOnce));
  const Outcome o = berth_run({"-f", file, "--default-run-for", "forever", "-o", "json"});
  EXPECT_EQ(o.code, 0);
  EXPECT_EQ(json::parse(o.out).at_pointer("/result/outcome").as_string(), "settled");
}

// The hour of "long" is the run; "again" starts its container anew every ten minutes of it.
TEST_F(RunTest, RestartsAreCounted) {
  std::string pods = pod("again", "1") + pod("long", "1", kOnce);
  pods.insert(pods.find("name: long"), "annotations: {berth.dev/run-for: 1h}\n  ");
  const std::string file = write("p.yaml", pods);
  EXPECT_THAT(berth_run({"-f", file}).out, HasSubstr("RUNNING  RESTARTS\n"));
  const json::value report = json::parse(berth_run({"-f", file, "-o", "json"}).out);
  EXPECT_EQ(report.at_pointer("/pods/0/restarts").to_number<int>(), 5);
  EXPECT_EQ(report.at_pointer("/pods/1/restarts").to_number<int>(), 0);
  EXPECT_THAT(berth_run(kDemo).out, Not(HasSubstr("RESTARTS"))) << "nothing in the demo restarts";
}

TEST_F(RunTest, TheTimesOfAPodAddUpToItsLifetime) {
  const std::string file =
      write("p.yaml", pod("first", "8", kOnce) + pod("second", "8", kOnce) + pod("big", "9"));
  const json::value report =
      json::parse(berth_run({"-f", file, "--nodes", "dgx-h100:1", "--default-run-for", "59.9s",
                             "-o", "json", "--quiet"})
                      .out);
  const auto end = report.at_pointer("/result/simulatedMs").to_number<std::int64_t>();
  ASSERT_EQ(report.at("pods").as_array().size(), 3U);
  for (const json::value& p : report.at("pods").as_array()) {
    const json::array& states = p.at("states").as_array();
    const json::value& last = states.back();
    const bool ended = last.at("state").as_string() == "Succeeded";
    const auto until = ended ? last.at("atMs").to_number<std::int64_t>() : end;
    EXPECT_EQ(p.at("waitingMs").to_number<std::int64_t>() +
                  p.at("startingMs").to_number<std::int64_t>() +
                  p.at("runningMs").to_number<std::int64_t>(),
              until - states.front().at("atMs").to_number<std::int64_t>())
        << p;
  }
  EXPECT_EQ(report.at_pointer("/pods/0/runningMs").to_number<int>(), 59'900);
}

TEST_F(RunTest, ShowsExactlyWhatAContainerSees) {
  const std::string file = write("p.yaml", pod("p", "2"));
  const Outcome o = berth_run({"-f", file, "--quiet", "--show-container", "p"});
  EXPECT_THAT(o.out, HasSubstr("CONTAINERS OF  default/p on dgx-h100-1, GPUs 0-1\n"));
  EXPECT_THAT(o.out, HasSubstr("NVIDIA_VISIBLE_DEVICES"));
  EXPECT_THAT(o.out, HasSubstr("/dev/nvidiactl"));
  EXPECT_THAT(berth_run({"-f", file, "--show-container", "q"}).err,
              HasSubstr("there was no pod q"));
}

TEST_F(RunTest, AFailedGpuIsDrawnAndNotGivenAgain) {
  const std::string file = write("p.yaml", pod("p", "8"));
  const Outcome o = berth_run(
      {"-f", file, "--nodes", "dgx-h100:1", "--at", "1s:xid:dgx-h100-1:3:79", "--until", "1h"});
  EXPECT_THAT(o.out, HasSubstr("GPU 3 unhealthy")) << o.out;
}

TEST_F(RunTest, APodOnADeadNodeIsNotSaidToRun) {
  const std::string file = write("p.yaml", pod("p", "8"));
  const Outcome o = berth_run({"-f", file, "--nodes", "dgx-h100:1", "--default-run-for", "forever",
                               "--at", "5m:node-down:dgx-h100-1"});
  EXPECT_THAT(o.out, HasSubstr("default    p     Terminating  dgx-h100-1"));
  EXPECT_THAT(o.out, HasSubstr("TERMINATING\n  being deleted, but its node dgx-h100-1 does not"));
  EXPECT_THAT(o.out, HasSubstr("1 pod: 1 terminating\n"));
  EXPECT_THAT(o.out, HasSubstr("; everything is stuck\n"));
}

TEST_F(RunTest, RecordWritesTheTimelineAsJsonLines) {
  const std::string file = write("p.yaml", pod("p", "1", kOnce));
  const Outcome o = berth_run({"-f", file, "--record", path("r.jsonl")});
  EXPECT_EQ(o.code, 0);
  std::ifstream in(path("r.jsonl"));
  std::string line;
  ASSERT_TRUE(std::getline(in, line));
  EXPECT_EQ(json::parse(line).at("kind").as_string(), "RunRecord");
  int lines = 0;
  bool running = false;
  for (; std::getline(in, line); ++lines) {
    const json::value entry = json::parse(line);
    running = running || (entry.at("object").as_string() == "pod/default/p" &&
                          entry.at("what").as_string() == "Running");
  }
  EXPECT_GT(lines, 3);
  EXPECT_TRUE(running);
  EXPECT_EQ(berth_run({"-f", file, "--record", root() + "/none/r.jsonl"}).code, 1);
}

TEST_F(RunTest, SaysWhichClusterItUsesWhenNoneIsGiven) {
  const std::string file = write("p.yaml", pod("p", "1", kOnce));
  EXPECT_THAT(berth_run({"-f", file}).err,
              HasSubstr("note: no --nodes and no --cluster: running on 2 dgx-h100 nodes"));
}

TEST_F(RunTest, NodesAmongTheManifestsAreTheCluster) {
  const std::string file = write("dump.yaml", R"(apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Node
  metadata: {name: gpu-a, uid: 1c4a2a9e-0000-4000-8000-000000000001, resourceVersion: "77"}
  status:
    capacity: {cpu: "32", memory: 256Gi, pods: "110", nvidia.com/gpu: "3"}
    allocatable: {cpu: "32", memory: 256Gi, pods: "110", nvidia.com/gpu: "3"}
    conditions: [{type: Ready, status: "True"}]
- apiVersion: v1
  kind: Pod
  metadata:
    name: p
    uid: 1c4a2a9e-0000-4000-8000-000000000002
    resourceVersion: "78"
    ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: gone, uid: x, controller: true}]
  spec: {restartPolicy: Never, containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 2}}}]}
  status: {phase: Running}
)");
  const Outcome o = berth_run({"-f", file, "-o", "json"});
  EXPECT_EQ(o.code, 0) << o.out << o.err;
  const json::value report = json::parse(o.out);
  EXPECT_EQ(report.at_pointer("/pods/0/node").as_string(), "gpu-a");
  EXPECT_EQ(report.at_pointer("/pods/0/phase").as_string(), "Succeeded");
  EXPECT_EQ(report.at_pointer("/pods/0/gpus").as_array().size(), 2U)
      << "which GPUs is known even without a platform";
}

TEST_F(RunTest, KindsWithoutAControllerAreNamedOnce) {
  const std::string file = write("t.yaml", R"(apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: a}
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: b}
)");
  const Outcome o = berth_run({"-f", file});
  EXPECT_EQ(o.code, 0);
  EXPECT_THAT(
      o.err,
      HasSubstr(
          "note: 2 TrainJob (trainer.kubeflow.org/v1alpha1): stored; nothing here acts on this "
          "kind yet\n"));
  const json::value report = json::parse(berth_run({"-f", file, "-o", "json"}).out);
  EXPECT_EQ(report.at_pointer("/objects/unhandledKinds/0/count").to_number<int>(), 2);
}

TEST_F(RunTest, KeysGivenTwiceAreNamedOnceAndTheLastCounts) {
  for (const char* name : {"p.yaml", "p.json"}) {
    const bool is_json = std::string(name).ends_with("json");
    const std::string file = write(
        name, is_json
                  ? "{\"apiVersion\": \"v1\", \"kind\": \"Pod\", \"metadata\": {\"name\": \"p\"},\n"
                    "\"spec\": {\"restartPolicy\": \"Always\",\n"
                    "\"containers\": [{\"name\": \"c\", \"image\": \"i\"}],\n"
                    "  \"restartPolicy\": \"Never\"}}"
                  : "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n"
                    "  restartPolicy: Always\n  containers: [{name: c, image: i}]\n"
                    "  restartPolicy: Never\n");
    const std::string place = file + (is_json ? ":4:3" : ":7:3");
    const Outcome o = berth_run({"-f", file, "-o", "json"});
    EXPECT_EQ(o.code, 0) << o.err;
    EXPECT_THAT(o.err, HasSubstr("warning: " + place + ": spec.restartPolicy: given twice"));
    EXPECT_EQ(o.err.find("given twice"), o.err.rfind("given twice"));
    const json::value report = json::parse(o.out);
    EXPECT_EQ(report.at_pointer("/pods/0/phase").as_string(), "Succeeded") << "Never it is";
    const json::value& note = report.at_pointer("/notes/0");
    EXPECT_EQ(note.at("severity").as_string(), "warning");
    EXPECT_EQ(note.at("source").as_string(), place);
    EXPECT_EQ(note.at("field").as_string(), "spec.restartPolicy");
  }
}

TEST_F(RunTest, KeysGivenTwiceInAClusterFileAreAnError) {
  const std::string file = write("p.yaml", pod("p", "1", kOnce));
  const std::string cluster =
      write("c.yaml", "apiVersion: berth.dev/v1alpha1\nkind: Cluster\nmetadata: {name: c}\n"
                      "spec:\n  nodes: [{platform: dgx-h100}]\n  nodes: [{platform: dgx-a100}]\n");
  const Outcome o = berth_run({"-f", file, "--cluster", cluster});
  EXPECT_EQ(o.code, 1);
  EXPECT_THAT(o.err, HasSubstr("c.yaml:6:3: key \"nodes\" is given twice"));
}

TEST_F(RunTest, RefusedObjectsAreReportedAndTheRestRuns) {
  const std::string file =
      write("p.yaml", pod("good", "1", kOnce) + pod("bad", "-1") + pod("Bad_Name", "1"));
  const Outcome o = berth_run({"-f", file});
  EXPECT_EQ(o.code, 1);
  EXPECT_THAT(o.out, HasSubstr("REJECTED"));
  EXPECT_THAT(o.out, HasSubstr("Pod default/bad\n  Invalid: "));
  EXPECT_THAT(o.out, HasSubstr("Pod default/Bad_Name\n  Invalid: "));
  EXPECT_THAT(o.out, HasSubstr("1 succeeded"));
}

TEST_F(RunTest, NothingRunsWhenAFileIsBad) {
  const std::string good = write("good.yaml", pod("p", "1"));
  const std::string bad = write("bad.yaml", "kind: [\n");
  const Outcome o = berth_run({"-f", good, "-f", bad, "-f", path("missing.yaml")});
  EXPECT_EQ(o.code, 1);
  EXPECT_EQ(o.out, "");
  EXPECT_THAT(o.err, HasSubstr("error: " + bad + ":"));
  EXPECT_THAT(o.err, HasSubstr("error: " + path("missing.yaml") + ": no such file or directory\n"));
}

TEST_F(RunTest, FilesWithoutObjectsAreNothingToRun) {
  const std::string empty = write("empty.yaml", "");
  const std::string blank = write("blank.yaml", "---\n# nothing\n---\n");
  const Outcome o = berth_run({"-f", empty, "-f", blank});
  EXPECT_EQ(o.code, 1);
  EXPECT_EQ(o.out, "");
  EXPECT_THAT(o.err, HasSubstr("error: nothing to run: no objects in " + empty + ", " + blank));
  EXPECT_EQ(berth_run({"-f", empty, "-f", write("p.yaml", pod("p", "1", kOnce))}).code, 0);
}

TEST_F(RunTest, AMissingClusterFileIsOneError) {
  const std::string file = write("p.yaml", pod("p", "1", kOnce));
  const std::string missing = path("none.yaml");
  EXPECT_EQ(berth_run({"-f", file, "--cluster", missing}).err,
            "error: " + missing + ": no such file or directory\n");
}

TEST_F(RunTest, WhatIsPassedOverIsSaid) {
  std::string pods =
      pod("p", "1", std::string(kOnce) + "  resourceClaims: [{name: g, resourceClaimName: c}]\n");
  pods.insert(pods.find("name: p"), "annotations: {berth.dev/run-for: banana}\n  ");
  const Outcome o = berth_run({"-f", write("p.yaml", pods), "--nodes", "dgx-h100:1", "-o", "json"});
  EXPECT_THAT(o.err, HasSubstr("p.yaml:4:36: metadata.annotations[berth.dev/run-for]: want a"));
  EXPECT_THAT(o.err, HasSubstr("Pod default/p asks for devices through resourceClaims"));
  EXPECT_EQ(json::parse(o.out).at_pointer("/notes/0/severity").as_string(), "warning");
}

/// A pod that mounts the claim "data".
std::string pod_with_claim(const std::string& name) {
  return pod(name, "1",
             std::string(kOnce) +
                 "  volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]\n");
}

constexpr const char* kClass = R"(apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata:
  name: fast
  annotations: {storageclass.kubernetes.io/is-default-class: "true"}
provisioner: csi.example
volumeBindingMode: WaitForFirstConsumer
---
)";

std::string claim_of(const std::string& size) {
  return "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {accessModes: "
         "[ReadWriteOnce], resources: {requests: {storage: " +
         size + "}}}\n---\n";
}

TEST_F(RunTest, APodWithAVolumeClaimRunsToItsEnd) {
  const std::string file = write("v.yaml", pod_with_claim("p") + claim_of("1Gi") + kClass);
  const Outcome o = berth_run({"-f", file, "--nodes", "dgx-h100:2", "-o", "json"});
  EXPECT_EQ(o.code, 0) << o.out << o.err;
  const json::value report = json::parse(o.out);
  EXPECT_EQ(report.at_pointer("/result/outcome").as_string(), "settled");
  EXPECT_EQ(report.at_pointer("/pods/0/phase").as_string(), "Succeeded");
  EXPECT_THAT(o.err, Not(HasSubstr("nothing here acts on")));
}

TEST_F(RunTest, APodWhoseClaimGetsNoVolumeSaysSo) {
  for (const auto& [objects, code, alone] :
       {std::tuple(claim_of("1Gi"), "CLAIM_NOT_BOUND", "never"),
        std::tuple(std::string(), "CLAIM_NOT_USABLE", "never")}) {
    const std::string file = write("v.yaml", pod_with_claim("p") + objects);
    const Outcome o = berth_run({"-f", file, "--nodes", "dgx-h100:2", "-o", "json"});
    const json::value stuck = json::parse(o.out).at_pointer("/notRunning/0");
    EXPECT_EQ(stuck.at("code").as_string(), code);
    EXPECT_EQ(stuck.at("alone").as_string(), alone);
  }
}

TEST_F(RunTest, APodThatWaitsForRoomKeepsItsClaimInTheEmptyCluster) {
  std::string text = claim_of("1Gi") + kClass + pod("first", "8", kOnce);
  text.insert(text.find("name: first"), "annotations: {berth.dev/run-for: forever}\n  ");
  const Outcome o = berth_run({"-f", write("v.yaml", text + pod_with_claim("p")), "--nodes",
                               "dgx-h100:1", "--until", "1h", "-o", "json"});
  const json::value stuck = json::parse(o.out).at_pointer("/notRunning/0");
  EXPECT_EQ(stuck.at("code").as_string(), "GPU_BUSY");
  EXPECT_EQ(stuck.at("alone").as_string(), "runs");
}

// Two parties keep the status of a quota: the run ends when both agree.
TEST_F(RunTest, AQuotaOfJobsAndPodsSettles) {
  const std::string quota = "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q}\n"
                            "spec: {hard: {count/jobs.batch: '5', pods: '9'}}\n---\n";
  const std::string job =
      "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {template: {spec: "
      "{restartPolicy: Never, containers: [{name: c, image: i}]}}}\n---\n";
  const Outcome o = berth_run({"-f", write("q.yaml", quota + job), "--until", "1h", "-o", "json"});
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(json::parse(o.out).at_pointer("/result/outcome").as_string(), "settled");
}

TEST_F(RunTest, TheSameObjectTwiceMustBeTheSame) {
  const std::string a = write("a.yaml", pod("p", "1"));
  const std::string b = write("b.yaml", pod("p", "1"));
  const std::string c = write("c.yaml", pod("p", "2"));
  EXPECT_EQ(berth_run({"-f", a, "-f", b}).code, 0);
  const Outcome o = berth_run({"-f", a, "-f", c});
  EXPECT_EQ(o.code, 1);
  EXPECT_THAT(o.err, HasSubstr("c.yaml:1"));
  EXPECT_THAT(o.err, HasSubstr("Pod default/p is defined differently at "));
}

TEST_F(RunTest, FaultsMustNameNodesThatExist) {
  const std::string file = write("p.yaml", pod("p", "1", kOnce));
  const Outcome o = berth_run({"-f", file, "--at", "1m:node-down:dgx-h100-9"});
  EXPECT_EQ(o.code, 1);
  EXPECT_THAT(o.err, HasSubstr("dgx-h100-9"));
}

// ---- what people have -------------------------------------------------------------------------

std::string shared_folder() {
  const char* given = std::getenv("BERTH_SHARED");
  return given != nullptr ? given : std::string(BERTH_SOURCE_DIR) + "/../shared";
}

class RealManifests : public ::testing::TestWithParam<const char*> {};

// Every pod ends in a state with a reason, every object is applied, refused or named; nothing hangs
// (the run is bounded by its own settling and a limit on virtual time).
TEST_P(RealManifests, EveryObjectIsAccountedFor) {
  const fs::path folder = fs::path(shared_folder()) / "inputs" / GetParam();
  if (!fs::is_directory(folder)) {
    GTEST_SKIP() << "no " << folder << "; set BERTH_SHARED";
  }
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string extension = entry.path().extension().string();
    if (entry.is_regular_file() &&
        (extension == ".yaml" || extension == ".yml" || extension == ".json")) {
      files.push_back(entry.path().string());
    }
  }
  std::ranges::sort(files);
  ASSERT_FALSE(files.empty());
  for (const std::string& file : files) {
    SCOPED_TRACE(file);
    const Outcome o = berth_run({"-f", file, "-o", "json", "--quiet", "--until", "48h"});
    EXPECT_THAT(o.code, AnyOf(Eq(0), Eq(1)));
    if (o.out.empty()) {
      EXPECT_THAT(o.err, HasSubstr("error: " + file)) << "a file that is not read says why";
      continue;
    }
    const json::value report = json::parse(o.out);
    EXPECT_NE(report.at_pointer("/result/outcome").as_string(), "interrupted");
    for (const json::value& refused : report.at_pointer("/objects/rejected").as_array()) {
      EXPECT_FALSE(refused.at("message").as_string().empty());
    }
    for (const json::value& stuck : report.at("notRunning").as_array()) {
      EXPECT_FALSE(stuck.at("code").as_string().empty());
      EXPECT_NE(stuck.at("code").as_string(), "NOT_TRIED");
    }
    const auto pending = report.at_pointer("/summary/pods/pending").to_number<std::size_t>();
    const auto failed = report.at_pointer("/summary/pods/failed").to_number<std::size_t>();
    EXPECT_EQ(report.at("notRunning").as_array().size(), pending + failed);
  }
}

INSTANTIATE_TEST_SUITE_P(Folders, RealManifests,
                         ::testing::Values("pods", "training", "volcano", "kueue", "nodes"),
                         [](const auto& c) { return std::string(c.param); });

} // namespace
} // namespace berth::cli
