#include "berth/cli/up/usage_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::cli {
namespace {

using testing::ElementsAre;

api::json::value read(const char* text) {
  return api::parse_json(text).value();
}

const char* const kGpus = R"({"items":[
  {"node":"n1","index":1,"utilization":80,"memory":{"capacity":"100Ki","used":"50Ki"},
   "pod":{"namespace":"default","name":"a","container":"c"}},
  {"node":"n1","index":0,"utilization":60,"memory":{"capacity":"100Ki","used":"25Ki"},
   "pod":{"namespace":"default","name":"a","container":"c"}},
  {"node":"n1","index":2,"utilization":0,"reason":"Xid 79","memory":{"capacity":"100Ki"}}]})";

TEST(UsageRows, Nodes) {
  const auto rows = node_rows(
      read(R"({"items":[{"metadata":{"name":"n1"},"status":{"allocatable":
               {"cpu":"8","memory":"16Gi"}}},{"metadata":{"name":"n2"}}]})"),
      read(R"({"items":[{"metadata":{"name":"n1"},"usage":{"cpu":"1500000000n","memory":"2048Ki"}},
               {"metadata":{"name":"gone"}}]})"),
      gpu_rows(read(kGpus)));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_TRUE(rows[0].measured);
  EXPECT_EQ(rows[0].cpu_milli, 1500);
  EXPECT_EQ(rows[0].cpu_allocatable_milli, 8000);
  EXPECT_EQ(rows[0].memory_bytes, 2 << 20);
  EXPECT_EQ(rows[0].gpus, 3);
  EXPECT_EQ(rows[0].gpus_taken, 2);
  EXPECT_EQ(rows[0].gpus_sick, 1);
  EXPECT_EQ(rows[0].gpu_percent, 46);
  EXPECT_EQ(rows[0].gpu_used_bytes, 75 << 10);
  EXPECT_FALSE(rows[1].measured);
  EXPECT_EQ(api::to_json(to_document(rows).at("items").as_array()[1]),
            R"({"name":"n2","measured":false})");
}

TEST(UsageRows, Pods) {
  const auto rows = pod_rows(read(R"({"items":[
      {"metadata":{"namespace":"default","name":"a"},"containers":[
        {"name":"c","usage":{"cpu":"250m","memory":"1Mi"}},
        {"name":"d","usage":{"cpu":"1","memory":"1Mi"}}]},
      {"metadata":{"namespace":"default","name":"b"}}]})"),
                             gpu_rows(read(kGpus)));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].cpu_milli, 1250);
  EXPECT_EQ(rows[0].memory_bytes, 2 << 20);
  EXPECT_THAT(rows[0].gpus, ElementsAre(0, 1));
  EXPECT_EQ(rows[0].gpu_percent, 70);
  EXPECT_EQ(rows[0].node, "n1");
  EXPECT_TRUE(rows[1].gpus.empty());
}

TEST(UsageRows, Gpus) {
  const auto rows = gpu_rows(read(kGpus));
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].pod, "a");
  EXPECT_EQ(rows[2].sickness, "Xid 79");
  const auto document = to_document(rows);
  EXPECT_EQ(api::find(document.at("items").as_array()[2], "pod"), nullptr);
}

TEST(UsageRows, GpusThatAreSharedNameEveryoneWhoHasSomethingOfThem) {
  const auto rows = gpu_rows(read(R"({"items":[{"node":"n1","index":1,
      "pod":{"namespace":"default","name":"a","container":"c"},
      "sharedBy":[{"namespace":"default","name":"a","container":"c","has":"500m"},
                  {"namespace":"team","name":"b","container":"c","has":"1g.10gb"}]}]})"));
  ASSERT_EQ(rows.size(), 1U);
  ASSERT_EQ(rows[0].sharers.size(), 2U);
  EXPECT_EQ(rows[0].sharers[1].pod, "b");
  EXPECT_EQ(rows[0].sharers[1].has, "1g.10gb");
  EXPECT_THAT(api::to_json(to_document(rows)),
              testing::HasSubstr(R"({"namespace":"team","name":"b","has":"1g.10gb"})"));
  const auto pods =
      pod_rows(read(R"({"items":[{"metadata":{"namespace":"team","name":"b"}}]})"), rows);
  ASSERT_EQ(pods.size(), 1U);
  EXPECT_THAT(pods[0].gpus, ElementsAre(1));
}

TEST(UsageRows, ProcessesAreNamedWithTheirPods) {
  const auto rows = gpu_rows(read(R"({"items":[{"node":"n1","index":0,"processes":[
      {"pid":4711,"name":"python3","memory":"2048Ki",
       "pod":{"namespace":"default","name":"a","container":"c"}},
      {"pid":12,"name":"Xorg"}]},{"node":"n1","index":1}]})"));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].percent, std::nullopt) << "nobody told";
  ASSERT_EQ(rows[0].processes.size(), 2U);
  EXPECT_EQ(rows[0].processes[0].pid, 4711);
  EXPECT_EQ(rows[0].processes[0].used_bytes, 2 << 20);
  EXPECT_EQ(rows[0].processes[0].pod, "a");
  EXPECT_EQ(rows[0].processes[1].used_bytes, std::nullopt);
  const std::string text = api::to_json(to_document(rows));
  EXPECT_THAT(text,
              testing::HasSubstr(R"({"pid":4711,"name":"python3","memoryUsedBytes":2097152,)"
                                 R"("pod":{"namespace":"default","name":"a","container":"c"}})"));
  EXPECT_THAT(text, testing::HasSubstr(R"({"pid":12,"name":"Xorg"})"));
}

TEST(UsageRows, MigDevicesAreRowsOfTheirOwn) {
  const auto rows = gpu_rows(read(R"({"items":[{"node":"n1","index":2,"instances":[
      {"uuid":"MIG-a","profile":"1g.10gb","gpuInstance":7,"utilization":40,
       "memory":{"capacity":"100Ki","used":"50Ki"},
       "pod":{"namespace":"default","name":"a","container":"c"}},
      {"uuid":"MIG-b","profile":"2g.20gb","gpuInstance":3}]}]})"));
  ASSERT_EQ(rows.size(), 1U);
  ASSERT_EQ(rows[0].instances.size(), 2U);
  EXPECT_EQ(rows[0].instances[0].percent, 40);
  EXPECT_EQ(rows[0].instances[0].memory_bytes, 100 << 10);
  EXPECT_EQ(rows[0].instances[0].pod, "a");
  EXPECT_EQ(rows[0].instances[1].used_bytes, std::nullopt);
  EXPECT_THAT(api::to_json(to_document(rows)),
              testing::HasSubstr(R"({"gpuInstance":3,"profile":"2g.20gb","uuid":"MIG-b"})"));
}

TEST(UsageRows, WhatIsNoListHasNoRows) {
  for (const char* text : {"null", "{}", R"({"items":{}})", R"({"items":[null,3,"x"]})"}) {
    EXPECT_LE(gpu_rows(read(text)).size(), 3U);
    EXPECT_LE(node_rows(read(text), read(text), {}).size(), 3U);
    EXPECT_LE(pod_rows(read(text), {}).size(), 3U);
  }
}

} // namespace
} // namespace berth::cli
