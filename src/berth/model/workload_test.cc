#include "berth/model/workload.h"

#include <gtest/gtest.h>

#include "berth/api/json.h"
#include "berth/testing/builders.h"

namespace berth::model {
namespace {

Result<std::shared_ptr<const Job>> job_of(std::string_view spec) {
  return decode_job(*api::parse_json(R"({"spec":)" + std::string(spec) + "}"));
}

struct CountCase {
  std::string name;
  std::string spec;
  std::int64_t parallelism;
  std::optional<std::int64_t> completions;
};

class JobCounts : public testing::TestWithParam<CountCase> {};

TEST_P(JobCounts, AreDefaultedAsInBatchV1) {
  const auto job = job_of(GetParam().spec);
  ASSERT_TRUE(job.has_value());
  EXPECT_EQ((*job)->parallelism, GetParam().parallelism);
  EXPECT_EQ((*job)->completions, GetParam().completions);
}

INSTANTIATE_TEST_SUITE_P(
    Table, JobCounts,
    testing::Values(CountCase{"Neither", "{}", 1, 1},
                    CountCase{"OnlyCompletions", R"({"completions":5})", 1, 5},
                    CountCase{"OnlyParallelism", R"({"parallelism":3})", 3, std::nullopt},
                    CountCase{"Both", R"({"parallelism":3,"completions":5})", 3, 5},
                    CountCase{"Zero", R"({"parallelism":0,"completions":1})", 0, 1}),
    [](const auto& given) { return given.param.name; });

TEST(Job, IsDecoded) {
  const auto job = test::job("j")
                       .parallelism(4)
                       .completions(4)
                       .indexed()
                       .suspended()
                       .ttl_seconds(0)
                       .active_deadline_seconds(60)
                       .uses(test::pod("t").gpus(8).in_group("g"))
                       .build();
  EXPECT_EQ(job->completion_mode, "Indexed");
  EXPECT_EQ(job->backoff_limit, 6);
  EXPECT_TRUE(job->suspend);
  EXPECT_EQ(job->ttl_seconds_after_finished, 0);
  EXPECT_EQ(job->active_deadline_seconds, 60);
  EXPECT_EQ(api::string_at(job->pod_template, "metadata.labels.scheduling"), "");
  EXPECT_NE(api::find_path(job->pod_template, "spec.containers"), nullptr);
  EXPECT_FALSE(job->finished());
}

TEST(Job, IsFinishedByItsConditions) {
  const auto with = [](std::string_view condition) {
    return (*decode_job(*api::parse_json(R"({"status":{"active":2,"conditions":[)" +
                                         std::string(condition) + "]}}")));
  };
  EXPECT_TRUE(with(R"({"type":"Complete","status":"True"})")->finished());
  EXPECT_TRUE(with(R"({"type":"Failed","status":"True"})")->finished());
  EXPECT_FALSE(with(R"({"type":"Complete","status":"False"})")->finished());
  EXPECT_FALSE(with(R"({"type":"Suspended","status":"True"})")->finished());
  EXPECT_EQ(with("")->status.active, 2);
}

TEST(Job, RefusesWhatTheApiServerRefuses) {
  EXPECT_EQ(berth::to_string(job_of(R"({"parallelism":-1})").error()),
            "spec: parallelism must not be negative, got -1");
  EXPECT_EQ(berth::to_string(job_of(R"({"completionMode":"Random"})").error()),
            "spec: completionMode must be NonIndexed or Indexed, got \"Random\"");
}

TEST(PodGroup, IsDecoded) {
  const auto group =
      test::pod_group("g", 4).timeout_seconds(30).min_resource("nvidia.com/gpu", "32").build();
  EXPECT_EQ(group->min_member, 4);
  EXPECT_EQ(group->schedule_timeout_seconds, 30);
  EXPECT_EQ(group->min_resources.at("nvidia.com/gpu").value(), 32);
  EXPECT_EQ(group->phase, "");
}

TEST(PriorityClass, IsDecoded) {
  const auto high = test::priority_class("high", 1000).global_default().build();
  EXPECT_EQ(high->value, 1000);
  EXPECT_TRUE(high->global_default);
  EXPECT_EQ(high->meta.name, "high");
}

TEST(ResourceQuota, IsDecoded) {
  const auto quota = decode_resource_quota(*api::parse_json(
      R"({"spec":{"hard":{"requests.nvidia.com/gpu":8,"pods":"10"}},"status":{"used":{"pods":"3"}}})"));
  ASSERT_TRUE(quota.has_value());
  EXPECT_EQ((*quota)->hard.at("requests.nvidia.com/gpu").value(), 8);
  EXPECT_EQ((*quota)->used.at("pods").value(), 3);
}

TEST(Views, AreSharedPerVersion) {
  const api::Object object = test::job("j").object();
  EXPECT_EQ(job_view(object)->get(), job_view(object)->get());
  EXPECT_EQ((*pod_group_view(test::pod_group("g", 2).object()))->min_member, 2);
  EXPECT_EQ((*priority_class_view(test::priority_class("p", 5).object()))->value, 5);
}

} // namespace
} // namespace berth::model
