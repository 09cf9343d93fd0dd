#include "berth/node/contents/cgroup_numbers.h"

#include <ostream>

#include <gtest/gtest.h>

#include "berth/testing/builders.h"

namespace berth::node {
namespace {

constexpr std::int64_t kGi = std::int64_t{1} << 30;

struct Case {
  const char* name;
  test::PodBuilder pod;
  runtime::Resources want;
  Role role = Role::App;
};

std::ostream& operator<<(std::ostream& out, const Case& each) {
  return out << each.name;
}

class CgroupNumbers : public ::testing::TestWithParam<Case> {};

TEST_P(CgroupNumbers, AreTheKubelets) {
  const auto pod = GetParam().pod.build();
  const auto& list =
      GetParam().role == Role::App ? pod->spec.containers : pod->spec.init_containers;
  const auto got = cgroup_numbers(*pod, list.at(0), GetParam().role, 100 * kGi);
  EXPECT_EQ(got.cpu_shares, GetParam().want.cpu_shares);
  EXPECT_EQ(got.cpu_quota_us, GetParam().want.cpu_quota_us);
  EXPECT_EQ(got.cpu_period_us, 100'000);
  EXPECT_EQ(got.memory_limit_bytes, GetParam().want.memory_limit_bytes);
  EXPECT_EQ(got.oom_score_adj, GetParam().want.oom_score_adj);
}

runtime::Resources numbers(std::int64_t shares, std::int64_t quota, std::int64_t memory,
                           std::int64_t score) {
  return {.cpu_shares = shares,
          .cpu_quota_us = quota,
          .memory_limit_bytes = memory,
          .oom_score_adj = score};
}

INSTANTIATE_TEST_SUITE_P(
    Pods, CgroupNumbers,
    ::testing::Values(
        Case{"BestEffort", test::pod("p"), numbers(2, 0, 0, 1000)},
        Case{"Guaranteed",
             test::pod("p").cpu("2").limit("cpu", "2").memory("1Gi").limit("memory", "1Gi"),
             numbers(2048, 200'000, kGi, -997)},
        Case{"LimitsAloneAreRequests", test::pod("p").limit("cpu", "500m").limit("memory", "1Gi"),
             numbers(512, 50'000, kGi, -997)},
        Case{"BurstableByItsShareOfMemory", test::pod("p").memory("25Gi"), numbers(2, 0, 0, 750)},
        Case{"BurstableAskingForNearlyAll", test::pod("p").memory("100Gi"), numbers(2, 0, 0, 3)},
        Case{"BurstableAskingForNothingOfIt", test::pod("p").cpu("10m"), numbers(10, 0, 0, 999)},
        Case{"TheLeastQuota", test::pod("p").limit("cpu", "1m").cpu("1m"),
             numbers(2, 1'000, 0, 999)},
        Case{"TheMostShares", test::pod("p").cpu("1000"), numbers(262144, 0, 0, 999)},
        Case{"NodeCritical", test::pod("p").priority_class("system-node-critical"),
             numbers(2, 0, 0, -997)},
        Case{"ASidecarIsKilledNoSoonerThanItsApp", test::pod("p").memory("50Gi").sidecar("s"),
             numbers(2, 0, 0, 500), Role::Sidecar}),
    [](const auto& each) { return std::string(each.param.name); });

TEST(CgroupNumbers, HugePagesAreNamedAsTheKernelNamesThem) {
  const auto pod =
      test::pod("p").limit("hugepages-2Mi", "4Mi").limit("hugepages-1Gi", "1Gi").build();
  const auto got = cgroup_numbers(*pod, pod->spec.containers[0], Role::App, 100 * kGi);
  EXPECT_EQ(got.hugepages,
            (std::map<std::string, std::int64_t>{{"2MB", 4 << 20}, {"1GB", 1 << 30}}));
}

TEST(CgroupNumbers, AMachineOfUnknownSizeGivesNoShares) {
  const auto pod = test::pod("p").memory("1Gi").build();
  EXPECT_EQ(cgroup_numbers(*pod, pod->spec.containers[0], Role::App, 0).oom_score_adj, 999);
}

} // namespace
} // namespace berth::node
