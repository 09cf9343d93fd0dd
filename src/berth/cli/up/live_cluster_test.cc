// A cluster beside the API's loop, in real time: what is written here runs over there, and what
// people ask of its nodes comes back.
#include "berth/cli/up/live_cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/api/json.h"
#include "berth/cli/up/live_nodes.h"
#include "berth/server/access/rbac_admission.h"
#include "berth/store/memory_store.h"

namespace berth::cli {
namespace {

using testing::HasSubstr;

constexpr Duration kPatience = Duration::seconds(60);

class LiveClusterTest : public testing::Test {
 protected:
  LiveClusterTest() {
    EXPECT_TRUE(store::bootstrap(registry, loop.now()));
    EXPECT_TRUE(cluster::define_faults(registry, loop.now()));
    cluster::ClusterSpec spec;
    spec.groups = {{.platform = "dgx-h100", .count = 2}};
    live.emplace(loop, registry, std::move(spec),
                 cluster::ClusterOptions{.default_run_for = Duration::max()});
  }

  testing::AssertionResult becomes(const std::function<bool()>& so) {
    const TimePoint until = loop.now() + kPatience;
    while (!so() && loop.now() < until) {
      loop.run_for(Duration::millis(2));
    }
    return so() ? testing::AssertionSuccess() : testing::AssertionFailure() << "it does not";
  }
  std::string at(const std::string& path) {
    const auto pod = registry.get(store::kPods, {"default", "p"});
    return pod ? std::string(api::string_at(pod->json(), path)) : "";
  }
  testing::AssertionResult pod_runs() {
    const auto pod = api::Object::parse(
        R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"default"},)"
        R"("spec":{"containers":[{"name":"c","image":"train:1","resources":{"limits":)"
        R"({"nvidia.com/gpu":"2"}}}]}})");
    if (!becomes([&] {
          return registry.get(store::kNodes, {"", "dgx-h100-2"}).has_value();
        }) ||
        !registry.create(*pod, loop.now())) {
      return testing::AssertionFailure() << "no node, or no pod";
    }
    return becomes([&] { return at("status.phase") == "Running"; });
  }
  using Opened = server::Answer<std::unique_ptr<server::LogReading>>;
  /// A log of the pod's container; `told` counts how often there was more.
  std::unique_ptr<server::LogReading> read(server::Nodes& nodes, bool follow) {
    const auto pod = registry.get(store::kPods, {"default", "p"});
    const auto id = api::string_at(
        api::find_path(pod->json(), "status.containerStatuses")->as_array().front(), "containerID");
    std::optional<Opened> opened;
    nodes.open_log(
        at("spec.nodeName"),
        {.ns = "default",
         .pod = "p",
         .container_id = std::string(id),
         .options = {.follow = follow}},
        [this] { ++told; }, [&](Opened answer) { opened = std::move(answer); });
    EXPECT_TRUE(becomes([&] { return opened.has_value(); }));
    return opened && *opened ? std::move(**opened) : nullptr;
  }

  net::AsioLoop loop;
  store::MemoryStore store;
  store::Registry registry{store,
                           Rng(1),
                           {.namespaces = store::Registry::Namespaces::MustExist,
                            .admission = server::with_rbac(store::server_admission())}};
  std::optional<LiveCluster> live;
  int told = 0;
};

TEST_F(LiveClusterTest, APodRunsAndItsNodeAnswersForIt) {
  ASSERT_TRUE(pod_runs());
  EXPECT_TRUE(becomes([&] { return live->scheduler_synced(); }));
  const std::string node = at("spec.nodeName");
  EXPECT_TRUE(live->nodes().has(node));
  EXPECT_FALSE(live->nodes().has("other"));

  const auto log = read(live->nodes(), false);
  ASSERT_TRUE(log);
  EXPECT_THAT(log->more(), HasSubstr("sees 2 GPUs"));
  EXPECT_EQ(log->more(), "");
  EXPECT_TRUE(log->over());

  EXPECT_FALSE(live->nodes().usage(node)) << "nobody has measured";
  bool measured = false;
  live->nodes().measure({node, "other"}, [&] { measured = true; });
  ASSERT_TRUE(becomes([&] { return measured; }));
  ASSERT_TRUE(live->nodes().usage(node));
  EXPECT_EQ(live->nodes().usage(node)->gpus.size(), 8U);
  EXPECT_EQ(live->nodes().usage(node)->pods.size(), 1U);
  EXPECT_FALSE(live->nodes().usage("other"));

  std::optional<server::Status> refused;
  live->nodes().find_streams(
      node, {.pod = "p"},
      [&](const server::Answer<server::StreamPlace>& at) { refused = at.error(); });
  ASSERT_TRUE(becomes([&] { return refused.has_value(); }));
  EXPECT_EQ(refused->code, 501);

  std::string metrics;
  live->scheduler_metrics([&](std::string text) { metrics = std::move(text); });
  EXPECT_TRUE(becomes([&] { return !metrics.empty(); }));
  EXPECT_THAT(metrics, HasSubstr("scheduler_schedule_attempts_total"));
}

TEST_F(LiveClusterTest, AFollowerIsToldOfMoreAndOfTheEnd) {
  ASSERT_TRUE(pod_runs());
  const auto log = read(live->nodes(), true);
  ASSERT_TRUE(log);
  EXPECT_THAT(log->more(), HasSubstr("started container c"));
  EXPECT_FALSE(log->over());
  ASSERT_TRUE(
      registry.remove(store::kPods, {"default", "p"}, {.grace_period_seconds = 1}, loop.now()));
  std::string text;
  EXPECT_TRUE(becomes([&] {
    text += log->more();
    return log->over();
  }));
  EXPECT_GT(told, 0);
  EXPECT_THAT(text, HasSubstr("got SIGTERM"));
}

TEST_F(LiveClusterTest, WhatIsReadEndsWithTheCluster) {
  ASSERT_TRUE(pod_runs());
  LiveNodes nodes([this] { return live ? &*live : nullptr; }, {"dgx-h100-1", "dgx-h100-2"});
  const auto log = read(nodes, true);
  ASSERT_TRUE(log);
  bool answered = false;
  std::string refusal;
  live->nodes().measure({"dgx-h100-1"}, [&] { answered = true; });
  live->nodes().open_log(
      "dgx-h100-1", {.pod = "p", .unreachable = {.message = "nobody"}}, [] {},
      [&](const Opened& opened) { refusal = opened.error().message; });
  live.reset(); // the loop has not run since: no answer can have come
  loop.run_for(Duration::millis(1));
  EXPECT_GT(told, 0) << "whoever waits looks again";
  EXPECT_TRUE(log->over());
  EXPECT_TRUE(answered) << "nor is anybody left waiting";
  EXPECT_EQ(refusal, "nobody");

  std::optional<Opened> refused;
  nodes.open_log(
      "dgx-h100-1", {.pod = "p"}, [] {}, [&](Opened answer) { refused = std::move(answer); });
  ASSERT_TRUE(refused && !*refused);
  EXPECT_THAT(refused->error().message, HasSubstr("simulated by the replica that leads"));
  EXPECT_TRUE(nodes.has("dgx-h100-1"));
  EXPECT_FALSE(nodes.has("another"));
  EXPECT_FALSE(nodes.usage("dgx-h100-1"));
}

} // namespace
} // namespace berth::cli
