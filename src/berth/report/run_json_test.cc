#include "berth/report/run_json.h"

#include <boost/json/serialize.hpp>
#include <gtest/gtest.h>

#include "berth/report/run_report_example.h"

namespace berth::report {
namespace {

namespace json = boost::json;

TEST(RunJson, IsValidStableAndComplete) {
  const std::string text = json::serialize(run_document(example(), WithTimeline::No));
  EXPECT_TRUE(text.starts_with(
      R"({"apiVersion":"berth.dev/v1alpha1","kind":"RunReport","cluster":{"nodes":2,"gpus":4,)"))
      << text;
  const json::value document = run_document(example(), WithTimeline::No);
  EXPECT_EQ(document.at_pointer("/result/outcome").as_string(), "settled");
  EXPECT_EQ(document.at_pointer("/summary/pods/pending").to_number<int>(), 1);
  EXPECT_EQ(document.at_pointer("/pods/0/gpus/1").to_number<int>(), 1);
  EXPECT_EQ(document.at_pointer("/pods/0/allReduceMBps").to_number<int>(), 380'000);
  EXPECT_EQ(document.at_pointer("/pods/0/restarts").to_number<int>(), 0) << "always there";
  EXPECT_EQ(document.at_pointer("/gpuMaps/busiest/nodes/0/gpus/0/pod").as_string(), "ml/trainer-0");
  EXPECT_EQ(document.at_pointer("/gpuMaps/end/nodes/0/gpus/0/state").as_string(), "free");
  EXPECT_EQ(document.at_pointer("/notRunning/0/code").as_string(), "GPU_EXCEEDS_NODE");
  EXPECT_EQ(document.at_pointer("/notRunning/0/alone").as_string(), "never");
  EXPECT_FALSE(document.as_object().contains("timeline"));
  EXPECT_EQ(text, json::serialize(run_document(example(), WithTimeline::No)));
}

TEST(RunJson, NamesTheProfiles) {
  RunReport r;
  r.cluster.scheduler_config = "sched.yaml";
  r.cluster.profiles = {
      {.scheduler_name = "a", .other_names = {"b"}, .kubernetes_version = "1.36"}};
  const json::value document = run_document(r, WithTimeline::No);
  EXPECT_EQ(
      json::serialize(document.at_pointer("/cluster/scheduler")),
      R"({"config":"sched.yaml","profiles":[{"schedulerName":"a","otherNames":["b"],"kubernetesVersion":"1.36"}]})");
}

TEST(RunJson, TheTimelineIsThereWhenAskedFor) {
  RunReport r;
  r.timeline = {{.at = Duration::millis(5),
                 .object = "pod/a/b",
                 .what = "Bound",
                 .detail = "n",
                 .warning = false}};
  EXPECT_EQ(json::serialize(run_document(r, WithTimeline::Yes).as_object().at("timeline")),
            R"([{"atMs":5,"object":"pod/a/b","what":"Bound","detail":"n","warning":false}])");
}

} // namespace
} // namespace berth::report
