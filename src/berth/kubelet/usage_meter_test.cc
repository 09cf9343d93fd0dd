// What is measured, of containers that a test has made up and of machines read from files.
#include "berth/kubelet/usage_meter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fmt/format.h>

#include "berth/base/virtual_loop.h"
#include "berth/kubelet/gpu_stats.h"
#include "berth/kubelet/stats_summary.h"
#include "berth/testing/listed_runtime.h"
#include "berth/testing/temp_files.h"

namespace berth::kubelet {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::int64_t kSecond = 1'000'000'000;

class Meter : public test::TempFiles {
 protected:
  void SetUp() override {
    TempFiles::SetUp();
    meter.emplace(loop, runtime, MachineSource{.procfs = root(), .disk = root()});
    machine(0);
    runtime.add_sandbox("a");
    runtime.listing.sandboxes.back().created_at = loop.now();
    runtime.add("1", "a", "c").started_at = loop.now();
    use("1", 0);
  }
  /// CPU time of the machine, in seconds.
  void machine(std::int64_t seconds) {
    const long hertz = sysconf(_SC_CLK_TCK);
    write("stat", fmt::format("cpu  {} 0 0 500 7 0 0 0 1 1\ncpu0 1 1 1\nbtime 1700000000\n",
                              seconds * hertz));
    write("meminfo", "MemTotal: 1000 kB\nMemFree: 300 kB\nInactive(file): 200 kB\n");
  }
  /// The container's CPU time so far, measured now.
  void use(const std::string& id, std::int64_t nanos) {
    runtime.used.containers = {
        {.id = id,
         .name = "c",
         .pod_uid = "uid-a",
         .usage = {.at = loop.now(), .cpu_nanos = nanos, .memory_bytes = 77}}};
  }
  void pass(Duration time) { loop.run_until(loop.now() + time); }
  std::shared_ptr<const Measurement> measure(Duration within = Duration::seconds(2)) {
    std::shared_ptr<const Measurement> got;
    meter->measure([&](const auto& told) { got = told ? *told : nullptr; });
    pass(within);
    return got;
  }

  VirtualLoop loop{TimePoint::from_unix_seconds(1'700'000'100)};
  test::ListedRuntime runtime{loop};
  std::optional<UsageMeter> meter;
};

TEST_F(Meter, TheFirstTimeTakesTwoLooksASecondApart) {
  loop.after(Duration::millis(500), [this] {
    machine(1);
    use("1", kSecond / 4);
  });
  const auto got = measure();
  ASSERT_NE(got, nullptr);
  EXPECT_EQ(got->window, Duration::seconds(1));
  EXPECT_EQ(got->nanocores, kSecond);
  ASSERT_THAT(got->pods, SizeIs(1));
  EXPECT_EQ(got->pods[0].name, "a");
  EXPECT_EQ(got->pods[0].containers[0].nanocores, kSecond / 2) << "in the half of a second";
  EXPECT_EQ(got->pods[0].nanocores, kSecond / 2);
  EXPECT_EQ(got->pods[0].usage.memory_bytes, 77);
  EXPECT_EQ(got->machine.usage.memory_usage_bytes, 700 * 1024);
  EXPECT_EQ(got->machine.usage.memory_bytes, 500 * 1024);
  EXPECT_EQ(got->machine.memory_available_bytes, 500 * 1024);
  EXPECT_EQ(got->machine.booted_at, TimePoint::from_unix_seconds(1'700'000'000));
  ASSERT_TRUE(got->machine.disk.has_value());
  EXPECT_GT(got->machine.disk->capacity_bytes, 0);
  EXPECT_EQ(runtime.usages_asked, 2);
}

TEST_F(Meter, LaterTheLookBeforeWillDo) {
  measure();
  EXPECT_EQ(loop.next(), TimePoint::max()) << "between two questions nothing happens";
  pass(Duration::seconds(20));
  machine(40);
  use("1", 5 * kSecond);
  const int asked = runtime.usages_asked;
  const auto got = measure(Duration::millis(1));
  ASSERT_NE(got, nullptr);
  EXPECT_EQ(runtime.usages_asked, asked + 1);
  EXPECT_EQ(got->window, Duration::seconds(21));
  EXPECT_EQ(measure(Duration()), got) << "what is younger than a second is told at once";
  pass(Duration::minutes(2));
  EXPECT_EQ(measure()->window, Duration::seconds(1)) << "what is old says nothing of now";
}

TEST_F(Meter, WhoAsksMeanwhileIsToldTheSame) {
  int told = 0;
  for (int i = 0; i < 3; ++i) {
    meter->measure([&](const auto&) { ++told; });
  }
  pass(Duration::seconds(2));
  EXPECT_EQ(told, 3);
  EXPECT_EQ(runtime.usages_asked, 2);
}

TEST_F(Meter, AContainerThatIsNewHasUsedWhatItHasSinceItBegan) {
  measure();
  pass(Duration::seconds(10));
  runtime.listing.containers.front().state = runtime::ContainerState::Exited;
  runtime.add("2", "a", "c").started_at = loop.now() - Duration::seconds(4);
  use("2", 2 * kSecond);
  const auto got = measure();
  ASSERT_THAT(got->pods, SizeIs(1));
  EXPECT_EQ(got->pods[0].containers[0].nanocores, kSecond / 2);
}

TEST_F(Meter, ACounterThatBeganAnewIsNotKnown) {
  use("1", 9 * kSecond);
  measure();
  pass(Duration::seconds(10));
  use("1", kSecond);
  EXPECT_EQ(measure()->pods[0].containers[0].nanocores, std::nullopt);
}

TEST_F(Meter, APodAsAWholeCountsMoreThanItsContainers) {
  const auto whole = [this](std::int64_t nanos) {
    runtime.used.sandboxes = {{.id = "sandbox-a",
                               .pod_uid = "uid-a",
                               .usage = {.at = loop.now(), .cpu_nanos = nanos, .memory_bytes = 99},
                               .interfaces = {{.name = "eth0", .received_bytes = 5}},
                               .processes = 2}};
  };
  whole(0);
  measure();
  pass(Duration::seconds(9));
  whole(3 * kSecond);
  const auto got = measure();
  EXPECT_NEAR(static_cast<double>(*got->pods[0].nanocores), kSecond * 3.0 / 11, kSecond * 0.05);
  EXPECT_EQ(got->pods[0].usage.memory_bytes, 99);
  const auto summary = stats_summary("n", *got);
  const std::string text = api::to_json(summary);
  EXPECT_THAT(text, HasSubstr(R"("podRef":{"name":"a","namespace":"default","uid":"uid-a"})"));
  EXPECT_THAT(text, HasSubstr(R"("network":{"name":"eth0","rxBytes":5)"));
  EXPECT_THAT(text, HasSubstr(R"("process_stats":{"process_count":2})"));
}

TEST_F(Meter, ARuntimeThatIsAwayIsAnError) {
  runtime.usage_error = Error{.code = Code::Unavailable, .message = "away"};
  std::optional<Error> error;
  meter->measure(
      [&](const auto& told) { error = told ? std::nullopt : std::optional(told.error()); });
  pass(Duration::seconds(2));
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->message, "away");
  runtime.usage_error.reset();
  EXPECT_NE(measure(), nullptr) << "and is asked again";
}

TEST_F(Meter, NothingIsToldOnceItIsGone) {
  int told = 0;
  {
    UsageMeter gone(loop, runtime, {.procfs = root(), .disk = root()});
    gone.measure([&](const auto&) { ++told; });
  }
  pass(Duration::minutes(1));
  EXPECT_EQ(told, 0);
}

TEST_F(Meter, PrometheusPagesAreTheKubelets) {
  use("1", kSecond / 4);
  const std::string page = resource_metrics(*measure());
  EXPECT_THAT(page, HasSubstr("# HELP node_cpu_usage_seconds_total [STABLE] Cumulative cpu time "
                              "consumed by the node in core-seconds\n"
                              "# TYPE node_cpu_usage_seconds_total counter\n"
                              "node_cpu_usage_seconds_total 0 1700000101000\n"));
  EXPECT_THAT(page, HasSubstr(R"(container_cpu_usage_seconds_total{container="c",)"
                              R"(namespace="default",pod="a"} 0.25 1700000100000)"));
  EXPECT_THAT(page, HasSubstr(R"(container_start_time_seconds{container="c",namespace="default",)"
                              R"(pod="a"} 1700000100 1700000100000)"));
  EXPECT_THAT(page, HasSubstr(R"(pod_memory_working_set_bytes{namespace="default",pod="a"} 77 )"));
  EXPECT_THAT(page, HasSubstr("resource_scrape_error 0\n"));
}

TEST_F(Meter, ASummaryIsReadBackAsItWasMeant) {
  const auto got = measure();
  const server::NodeUsage meant = node_usage(*got);
  const auto read = read_stats_summary(stats_summary("n", *got));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->cpu_nanocores, meant.cpu_nanocores);
  EXPECT_EQ(read->memory_bytes, meant.memory_bytes);
  ASSERT_THAT(read->pods, SizeIs(1));
  EXPECT_EQ(read->pods[0].containers[0].name, "c");
  EXPECT_EQ(read->pods[0].containers[0].memory_bytes, 77);
}

TEST(StatsSummary, OtherDocumentsAreNone) {
  for (const char* text : {"[]", "{}", R"({"node":{}})", R"({"node":{"cpu":{"time":"noon"}}})"}) {
    EXPECT_FALSE(read_stats_summary(*api::parse_json(text)).has_value()) << text;
  }
  const auto odd = read_stats_summary(*api::parse_json(
      R"({"node":{"cpu":{"time":"2026-01-01T00:00:00Z","usageNanoCores":-4}},"pods":[3,{}]})"));
  ASSERT_TRUE(odd.has_value());
  EXPECT_EQ(odd->cpu_nanocores, 0);
  EXPECT_THAT(odd->pods, SizeIs(2));
}

TEST(GpuStats, AreReadBackAsTheyWereMeant) {
  server::GpuUsage gpu{.index = 3, .uuid = "u", .product = "p", .memory_bytes = 9};
  gpu.percent = 5;
  gpu.sickness = "lost";
  gpu.more.energy_mj = 1'000'000'000'000;
  gpu.sharers = {{.pod_uid = "a", .container = "c", .what = "500m"},
                 {.pod_uid = "b", .container = "d", .what = "2 replicas"}};
  gpu.more.nvlink_kib = 17;
  gpu.more.tensor_permille = 400;
  gpu.processes = {{.pid = 4711,
                    .name = "python3",
                    .used_bytes = 8,
                    .gpu_instance = 7,
                    .pod_uid = "uid-a",
                    .container = "c"},
                   {.pid = 12, .name = "Xorg"}};
  const auto read = read_gpu_stats(gpu_stats({gpu}));
  ASSERT_THAT(read, SizeIs(1));
  EXPECT_EQ(read[0].index, 3);
  EXPECT_EQ(read[0].percent, 5);
  EXPECT_EQ(read[0].used_bytes, std::nullopt);
  EXPECT_EQ(read[0].sickness, "lost");
  EXPECT_EQ(read[0].more.energy_mj, 1'000'000'000'000);
  ASSERT_THAT(read[0].sharers, SizeIs(2));
  EXPECT_EQ(read[0].sharers[1].pod_uid, "b");
  EXPECT_EQ(read[0].sharers[1].container, "d");
  EXPECT_EQ(read[0].sharers[1].what, "2 replicas");
  EXPECT_EQ(read[0].more.nvlink_kib, 17);
  EXPECT_EQ(read[0].more.tensor_permille, 400);
  ASSERT_EQ(read[0].processes.size(), 2U);
  EXPECT_EQ(read[0].processes[0].pid, 4711);
  EXPECT_EQ(read[0].processes[0].used_bytes, 8);
  EXPECT_EQ(read[0].processes[0].gpu_instance, 7);
  EXPECT_EQ(read[0].processes[0].pod_uid, "uid-a");
  EXPECT_EQ(read[0].processes[0].container, "c");
  EXPECT_EQ(read[0].processes[1].name, "Xorg");
  EXPECT_EQ(read[0].processes[1].gpu_instance, std::nullopt);
  EXPECT_THAT(read_gpu_stats(*api::parse_json("{}")), IsEmpty());
  EXPECT_EQ(read_gpu_stats(*api::parse_json(R"({"gpus":[{"index":"x"}]})"))[0].index, 0);
}

class MachineUsageFiles : public test::TempFiles {
 protected:
  MachineUsage read() {
    return read_machine_usage({.procfs = root(), .disk = path("nowhere")}, TimePoint());
  }
};

TEST_F(MachineUsageFiles, WhatIsNotThereIsNotTold) {
  const MachineUsage nothing = read();
  EXPECT_EQ(nothing.usage.cpu_nanos, std::nullopt);
  EXPECT_EQ(nothing.usage.memory_bytes, std::nullopt);
  EXPECT_FALSE(nothing.disk.has_value());
}

TEST_F(MachineUsageFiles, OddFilesAreNotBelieved) {
  write("stat", "cpu  1 2 x\nbtime 99999999999999\n");
  write("meminfo", "MemTotal: 10 kB\nMemFree: 20 kB\n");
  write("vmstat", "pgfault -3\npgmajfault 99999999999999999999\n");
  const MachineUsage odd = read();
  EXPECT_EQ(odd.usage.cpu_nanos, std::nullopt);
  EXPECT_EQ(odd.usage.memory_bytes, std::nullopt);
  EXPECT_EQ(odd.usage.page_faults, std::nullopt);
  EXPECT_EQ(odd.usage.major_page_faults, std::nullopt);
  write("stat", "cpu  4503599627370495 0 4503599627370495 0 0 0 0\n");
  EXPECT_EQ(read().usage.cpu_nanos, std::nullopt) << "more than time has been";
}

TEST_F(MachineUsageFiles, ThisMachineTellsEverything) {
  const MachineUsage real = read_machine_usage({.procfs = "/proc", .disk = root()}, TimePoint());
  EXPECT_GT(real.usage.cpu_nanos.value_or(0), 0);
  EXPECT_GT(real.usage.memory_bytes.value_or(0), 0);
  EXPECT_TRUE(real.booted_at.has_value());
}

} // namespace
} // namespace berth::kubelet
