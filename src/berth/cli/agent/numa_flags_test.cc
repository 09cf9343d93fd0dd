#include "berth/cli/agent/numa_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

using Flags = std::map<std::string, std::vector<std::string>, std::less<>>;
Result<NumaChoice> read(Flags flags) {
  return numa_choice(Values{.flags = std::move(flags), .arguments = {}});
}

TEST(NumaFlags, NothingIsDoneByDefault) {
  const auto choice = read({});
  ASSERT_TRUE(choice.has_value());
  EXPECT_FALSE(choice->settings.active());
  EXPECT_EQ(choice->reserve, node::SystemReserve());
}

TEST(NumaFlags, AreReadAsTheKubeletReadsThem) {
  const auto choice =
      read({{"--topology-manager-policy", {"restricted"}},
            {"--topology-manager-scope", {"pod"}},
            {"--topology-manager-policy-options", {"prefer-closest-numa-nodes=true"}},
            {"--cpu-manager-policy", {"static"}},
            {"--cpu-manager-policy-options", {"full-pcpus-only=true"}},
            {"--memory-manager-policy", {"Static"}},
            {"--reserved-memory", {"0:memory=1Gi,hugepages-1Gi=2Gi;1:memory=1Gi", "2:memory=5Mi"}},
            {"--kube-reserved", {"cpu=500m,memory=1Gi,pid=1000"}},
            {"--system-reserved", {"cpu=1,ephemeral-storage=1Gi"}}});
  ASSERT_TRUE(choice.has_value()) << to_string(choice.error());
  const topology::Settings& settings = choice->settings;
  EXPECT_EQ(settings.alignment.policy, topology::Policy::Restricted);
  EXPECT_EQ(settings.alignment.scope, topology::Scope::Pod);
  EXPECT_TRUE(settings.alignment.options.prefer_closest_numa_nodes);
  EXPECT_EQ(settings.cpu_policy, topology::CpuPolicy::Static);
  EXPECT_TRUE(settings.cpu_options.full_pcpus_only);
  EXPECT_EQ(settings.memory_policy, topology::MemoryPolicy::Static);
  constexpr std::int64_t kGib = std::int64_t{1} << 30;
  EXPECT_THAT(
      *settings.reserved_memory,
      ElementsAre(Pair(0, ElementsAre(Pair("hugepages-1Gi", 2 * kGib), Pair("memory", kGib))),
                  Pair(1, ElementsAre(Pair("memory", kGib))),
                  Pair(2, ElementsAre(Pair("memory", 5 << 20)))));
  EXPECT_EQ(choice->reserve,
            (node::SystemReserve{.milli_cpu = 1500, .memory = kGib, .storage = kGib}));
}

TEST(NumaFlags, ReservedCpusAreWhatIsKeptBack) {
  const auto choice = read({{"--reserved-cpus", {"0-1,8"}}, {"--kube-reserved", {"cpu=500m"}}});
  ASSERT_TRUE(choice.has_value());
  EXPECT_EQ(choice->settings.reserved_cpus, (topology::CpuSet{0, 1, 8}));
  EXPECT_EQ(choice->reserve.milli_cpu, 3000);
}

struct Refusal {
  std::string flag;
  std::string text;
  std::string error;
};
class NumaFlagRefusals : public testing::TestWithParam<Refusal> {};

TEST_P(NumaFlagRefusals, NameTheFlag) {
  const auto choice = read({{GetParam().flag, {GetParam().text}}});
  ASSERT_FALSE(choice.has_value());
  EXPECT_EQ(choice.error().code, Code::BadRequest);
  EXPECT_THAT(choice.error().message, HasSubstr(GetParam().flag + ": " + GetParam().error));
}
INSTANTIATE_TEST_SUITE_P(
    Flags, NumaFlagRefusals,
    testing::Values(
        Refusal{"--topology-manager-policy", "some", "unknown policy: \"some\""},
        Refusal{"--topology-manager-policy-options", "max-allowable-numa-nodes=2",
                "the minimum value of \"max-allowable-numa-nodes\" should not be less than 8"},
        Refusal{"--cpu-manager-policy-options", "full-pcpus-only",
                "malformed pair, expect string=string: \"full-pcpus-only\""},
        Refusal{"--cpu-manager-policy-options", "fast=true",
                "unsupported cpumanager option: \"fast\""},
        Refusal{"--reserved-cpus", "a", "unable to parse \"a\""},
        Refusal{"--reserved-cpus", "", "unable to parse \"\""},
        Refusal{"--reserved-memory", "memory=1Gi",
                "the reserved memory has incorrect format, expected "
                "numaNodeID:type=quantity[,type=quantity...], got memory=1Gi"},
        Refusal{"--reserved-memory", "x:memory=1Gi", "failed to convert the NUMA node ID"},
        Refusal{"--reserved-memory", "64:memory=1Gi", "failed to convert the NUMA node ID"},
        Refusal{"--reserved-memory", "0:cpu=1",
                "memory type conversion error, unknown type: \"cpu\""},
        Refusal{"--reserved-memory", "0:memory=0",
                "reserved memory may not be zero for NUMA node 0 and resource \"memory\""},
        Refusal{"--reserved-memory", "0:memory=1;0:memory=2",
                "the reserved memory has a duplicate value for NUMA node 0"},
        Refusal{"--kube-reserved", "gpu=1", "cannot reserve \"gpu\" resource"},
        Refusal{"--kube-reserved", "cpu=lots", "failed to parse quantity \"lots\""},
        Refusal{"--system-reserved", "memory=-1Gi",
                "resource quantity for \"memory\" cannot be negative: -1Gi"}));

} // namespace
} // namespace berth::cli
