#include "berth/topology/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/testing/numa_machines.h"

namespace berth::topology {
namespace {

using ::testing::HasSubstr;

Result<Settings> read(std::string_view text) {
  return read_settings(api::parse_json(text).value());
}

TEST(Settings, AreReadFromTheKubeletsFields) {
  const auto settings = read(R"({
    "topologyManagerPolicy": "restricted",
    "topologyManagerScope": "pod",
    "topologyManagerPolicyOptions": {"prefer-closest-numa-nodes": "true"},
    "cpuManagerPolicy": "static",
    "cpuManagerPolicyOptions": {"full-pcpus-only": "true"},
    "reservedSystemCPUs": "0-1",
    "memoryManagerPolicy": "Static",
    "reservedMemory": [{"numaNode": 0, "limits": {"memory": "1Gi"}}]})");
  ASSERT_TRUE(settings) << to_string(settings.error());
  EXPECT_EQ(settings->alignment.policy, Policy::Restricted);
  EXPECT_EQ(settings->alignment.scope, Scope::Pod);
  EXPECT_TRUE(settings->alignment.options.prefer_closest_numa_nodes);
  EXPECT_EQ(settings->cpu_policy, CpuPolicy::Static);
  EXPECT_TRUE(settings->cpu_options.full_pcpus_only);
  EXPECT_EQ(settings->reserved_cpus, (CpuSet{0, 1}));
  EXPECT_EQ(settings->memory_policy, MemoryPolicy::Static);
  EXPECT_EQ(settings->reserved_memory->at(0).at("memory"), std::int64_t{1} << 30);
}

TEST(Settings, OfNothingAreNone) {
  const auto rules = make_rules(read("{}").value(), test::numa_machine({}), {});
  ASSERT_TRUE(rules);
  EXPECT_FALSE(rules->active());
}

struct Bad {
  const char* name;
  const char* text;
  const char* field;
  const char* message;
};
class BadSettings : public ::testing::TestWithParam<Bad> {};

TEST_P(BadSettings, NameTheField) {
  const auto settings = read(GetParam().text);
  ASSERT_FALSE(settings);
  EXPECT_EQ(settings.error().code, Code::Invalid);
  EXPECT_THAT(settings.error().message, HasSubstr(GetParam().message));
  EXPECT_EQ(settings.error().where.value_or(Where()).field, GetParam().field);
}

INSTANTIATE_TEST_SUITE_P(
    All, BadSettings,
    ::testing::Values(
        Bad{"NoMapping", R"([])", "", "a mapping of KubeletConfiguration fields"},
        Bad{"UnknownField", R"({"cpuPolicy": "static"})", "cpuPolicy", "cpuManagerPolicy"},
        Bad{"UnknownPolicy", R"({"topologyManagerPolicy": "strict"})", "topologyManagerPolicy",
            "unknown policy: \"strict\""},
        Bad{"PolicyIsNoText", R"({"topologyManagerPolicy": 3})", "topologyManagerPolicy",
            "a text is expected: 3"},
        Bad{"UnknownScope", R"({"topologyManagerScope": "node"})", "topologyManagerScope",
            "unknown scope"},
        Bad{"OptionsAreNoMapping", R"({"cpuManagerPolicyOptions": "full-pcpus-only"})",
            "cpuManagerPolicyOptions", "a mapping of texts"},
        Bad{"OptionIsNoText", R"({"cpuManagerPolicyOptions": {"full-pcpus-only": true}})",
            "cpuManagerPolicyOptions", "a text is expected: true"},
        Bad{"UnknownOption", R"({"topologyManagerPolicyOptions": {"x": "true"}})",
            "topologyManagerPolicyOptions", "unknown Topology Manager Policy option"},
        Bad{"BadCpuList", R"({"reservedSystemCPUs": "0-"})", "reservedSystemCPUs", "not a number"},
        Bad{"ReservedMemoryIsNoList", R"({"reservedMemory": {}})", "reservedMemory",
            "a list is expected"},
        Bad{"NoNode", R"({"reservedMemory": [{"limits": {}}]})", "reservedMemory",
            "numaNode from 0 to 63"},
        Bad{"NodeTwice",
            R"({"reservedMemory": [{"numaNode": 0, "limits": {}}, {"numaNode": 0, "limits": {}}]})",
            "reservedMemory", "NUMA node 0 is there twice"},
        Bad{"ReservedCpu", R"({"reservedMemory": [{"numaNode": 0, "limits": {"cpu": "1"}}]})",
            "reservedMemory", "memory or hugepages-SIZE is expected: cpu"},
        Bad{"NoQuantity", R"({"reservedMemory": [{"numaNode": 0, "limits": {"memory": "much"}}]})",
            "reservedMemory", "much"},
        Bad{"NegativeMemory",
            R"({"reservedMemory": [{"numaNode": 0, "limits": {"memory": "-1"}}]})",
            "reservedMemory", "above 0"}),
    [](const auto& each) { return each.param.name; });

TEST(Rules, ReserveWhatTheNodeKeepsBack) {
  const Settings settings{.cpu_policy = CpuPolicy::Static, .memory_policy = MemoryPolicy::Static};
  const auto rules =
      make_rules(settings, test::numa_machine({}), {.milli_cpu = 1500, .memory = 1001});
  ASSERT_TRUE(rules) << to_string(rules.error());
  EXPECT_EQ(rules->cpus.reserved.to_string(), "0,8") << "rounded up";
  EXPECT_EQ(rules->memory.reserved.at(0).at("memory") + rules->memory.reserved.at(1).at("memory"),
            1001);
  EXPECT_TRUE(rules->active());
}

TEST(Rules, TakeReservedCpusAsTheyAreNamed) {
  const Settings settings{.cpu_policy = CpuPolicy::Static, .reserved_cpus = CpuSet{3}};
  EXPECT_EQ(make_rules(settings, test::numa_machine({}), {.milli_cpu = 1500})->cpus.reserved,
            (CpuSet{3}));
}

TEST(Rules, SayWhatTheMachineContradicts) {
  EXPECT_FALSE(make_rules({.cpu_policy = CpuPolicy::Static}, test::numa_machine({}), {}))
      << "nothing is reserved";
  EXPECT_FALSE(make_rules({.alignment = {.policy = Policy::Restricted}}, test::gb200_machine(), {}))
      << "34 nodes";
  Settings wrong{.memory_policy = MemoryPolicy::Static};
  wrong.reserved_memory = {{0, {{"memory", 1}}}};
  EXPECT_FALSE(make_rules(wrong, test::numa_machine({}), {.memory = 2}));
}

} // namespace
} // namespace berth::topology
