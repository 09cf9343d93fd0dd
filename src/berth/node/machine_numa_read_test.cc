// Reading a machine's NUMA nodes from trees like those of real machines, and from broken ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include <fmt/format.h>

#include "berth/node/machine_facts.h"
#include "berth/node/machine_numa.h"
#include "berth/testing/temp_files.h"

namespace berth::node {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;
using topology::Cpu;
using topology::CpuSet;

class MachineNuma : public test::TempFiles {
 protected:
  /// Below the tree's devices/system.
  void put(const std::string& name, const std::string& text) {
    const std::filesystem::path file = path("devices/system/" + name);
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void node(int id, const std::string& cpus, long kib, const std::string& distance) {
    const std::string folder = fmt::format("node/node{}/", id);
    put(folder + "cpulist", cpus + "\n");
    put(folder + "meminfo",
        fmt::format("Node {0} MemTotal:       {1} kB\nNode {0} MemFree:        12 kB\n", id, kib));
    put(folder + "distance", distance + "\n");
  }
  void cpu(int id, int socket, const std::string& siblings, const std::string& cache) {
    const std::string folder = fmt::format("cpu/cpu{}/", id);
    put(folder + "topology/physical_package_id", fmt::format("{}\n", socket));
    put(folder + "topology/thread_siblings_list", siblings + "\n");
    put(folder + "cache/index3/shared_cpu_list", cache + "\n");
  }
  void pages(int node, long kib, long count) {
    put(fmt::format("node/node{}/hugepages/hugepages-{}kB/nr_hugepages", node, kib),
        fmt::format("{}\n", count));
  }
  /// Two sockets of two cores with two threads.
  void two_sockets() {
    node(0, "0-1,4-5", 4 << 20, "10 21");
    node(1, "2-3,6-7", 8 << 20, "21 10");
    for (int id = 0; id < 8; ++id) {
      const int core = id % 4;
      cpu(id, core / 2, fmt::format("{},{}", core, core + 4), core < 2 ? "0-1,4-5" : "2-3,6-7");
    }
  }
  Result<topology::Machine> read(NumaSource with = {}) {
    with.sysfs = root();
    return read_machine_numa(with);
  }
};

TEST_F(MachineNuma, TwoSocketsAreAsLinuxTells) {
  two_sockets();
  pages(1, 2048, 512);
  pages(1, 1048576, 2);
  const auto machine = read();
  ASSERT_TRUE(machine.has_value()) << to_string(machine.error());
  ASSERT_THAT(machine->cpus, SizeIs(8));
  const Cpu& last = machine->cpus[7];
  EXPECT_EQ(last.id, 7);
  EXPECT_EQ(last.core, 3);
  EXPECT_EQ(last.socket, 1);
  EXPECT_EQ(last.numa, 1);
  EXPECT_EQ(last.uncore_cache, 2);
  EXPECT_EQ(machine->threads_per_core(), 2);
  EXPECT_EQ(machine->sockets(), 2);
  EXPECT_EQ(machine->distance(0, 1), 21);
  constexpr std::int64_t kGib = std::int64_t{1} << 30;
  EXPECT_THAT(machine->nodes[0].memory, ElementsAre(Pair("memory", 4 * kGib)));
  EXPECT_THAT(machine->nodes[1].memory,
              ElementsAre(Pair("hugepages-1Gi", 2 * kGib), Pair("hugepages-2Mi", kGib),
                          Pair("memory", 5 * kGib)))
      << "huge pages are taken from the node's memory";
}

TEST_F(MachineNuma, OnlyUsableCpusCount) {
  two_sockets();
  const auto machine = read({.usable = CpuSet{4, 5, 6}});
  ASSERT_TRUE(machine.has_value());
  EXPECT_EQ(machine->all_cpus(), (CpuSet{4, 5, 6}));
  EXPECT_EQ(machine->cpus[0].core, 4) << "CPU 0 is not ours";
  EXPECT_EQ(machine->cpus[0].uncore_cache, 4);
}

TEST_F(MachineNuma, AGpusOwnMemoryIsNobodys) {
  two_sockets();
  node(2, "", 96 << 20, "80 80 10");
  put("node/node0/distance", "10 21 80\n");
  put("node/node1/distance", "21 10 80\n");
  const auto machine = read({.device_memory = {2, 0}});
  ASSERT_TRUE(machine.has_value()) << to_string(machine.error());
  EXPECT_THAT(machine->nodes, SizeIs(2)) << "a node without CPUs and memory is left out";
  EXPECT_EQ(machine->nodes[0].memory.at("memory"), std::int64_t{4} << 30U)
      << "node 0 has CPUs: its memory is the machine's";
  EXPECT_THAT(read()->nodes, SizeIs(3)) << "memory alone is a node too";
}

TEST_F(MachineNuma, AKernelWithoutNumaIsOneNode) {
  put("cpu/online", "0-1\n");
  const auto machine = read({.memory = 1000});
  ASSERT_TRUE(machine.has_value());
  ASSERT_THAT(machine->cpus, SizeIs(2));
  EXPECT_EQ(machine->cpus[1].core, 1) << "nothing is known of its core";
  EXPECT_EQ(machine->cpus[1].socket, 0);
  ASSERT_THAT(machine->nodes, SizeIs(1));
  EXPECT_EQ(machine->nodes[0].memory.at("memory"), 1000);
}

TEST_F(MachineNuma, AnEmptyTreeHasWhatTheCallerKnows) {
  const auto machine = read({.usable = CpuSet{3}, .memory = 1});
  ASSERT_TRUE(machine.has_value());
  EXPECT_EQ(machine->all_cpus(), CpuSet{3});
  EXPECT_THAT(read()->nodes, IsEmpty());
}

TEST_F(MachineNuma, AVirtualMachinesSocketMayBeUnknown) {
  two_sockets();
  put("cpu/cpu0/topology/physical_package_id", "-1\n");
  EXPECT_EQ(read()->cpus[0].socket, 0);
}

struct Broken {
  std::string name;
  std::string file;
  std::string text;
  std::string error;
};
class BrokenNuma : public MachineNuma, public testing::WithParamInterface<Broken> {};

TEST_P(BrokenNuma, IsNamed) {
  two_sockets();
  put(GetParam().file, GetParam().text);
  const auto machine = read();
  ASSERT_FALSE(machine.has_value());
  EXPECT_THAT(machine.error().message, HasSubstr(GetParam().error));
}
INSTANTIATE_TEST_SUITE_P(
    Files, BrokenNuma,
    testing::Values(
        Broken{"cpus", "node/node1/cpulist", "2-\n",
               "node1/cpulist: a list such as 0-3,8 is expected: \"2-\""},
        Broken{"twice", "node/node1/cpulist", "0-3", "CPU 0 is on two NUMA nodes"},
        Broken{"far", "node/node1/cpulist", "0-99999999", "a list such as 0-3,8 is expected"},
        Broken{"meminfo", "node/node0/meminfo", "Node 0 MemTotal: much kB\n",
               "node0/meminfo: MemTotal in kB is expected"},
        Broken{"no_total", "node/node0/meminfo", "Node 0 MemFree: 3 kB\n",
               "a line with MemTotal is expected"},
        Broken{"too_much", "node/node0/meminfo", "Node 0 MemTotal: 9999999999999999999 kB\n",
               "MemTotal in kB is expected"},
        Broken{"distances", "node/node0/distance", "10\n", "2 numbers is expected: \"10\""},
        Broken{"words", "node/node0/distance", "near far\n", "2 numbers is expected"},
        Broken{"pages", "node/node0/hugepages/hugepages-2048kB/nr_hugepages", "-1\n",
               "a number of pages is expected: \"-1\""},
        Broken{"many_pages", "node/node0/hugepages/hugepages-1048576kB/nr_hugepages",
               "9223372036854775807\n", "a number of pages is expected"},
        Broken{"socket", "cpu/cpu3/topology/physical_package_id", "left\n",
               "a number is expected: \"left\""},
        Broken{"siblings", "cpu/cpu3/topology/thread_siblings_list", "x\n",
               "a list such as 0-3,8 is expected"},
        Broken{"node", "node/node64/cpulist", "\n", "NUMA nodes up to 63 are supported"}),
    [](const auto& of) { return of.param.name; });

TEST_F(MachineNuma, OtherFilesAreNotNodes) {
  two_sockets();
  put("node/node/cpulist", "9");
  put("node/nodes1/cpulist", "9");
  put("node/node1x/cpulist", "9");
  put("node/node0/hugepages/hugepages-kB/nr_hugepages", "9");
  EXPECT_THAT(read()->nodes, SizeIs(2));
}

TEST(HugepageResource, IsNamedAsKubernetesNamesIt) {
  EXPECT_EQ(hugepage_resource(2048), "hugepages-2Mi");
  EXPECT_EQ(hugepage_resource(1048576), "hugepages-1Gi");
  EXPECT_EQ(hugepage_resource(16777216), "hugepages-16Gi");
  EXPECT_EQ(hugepage_resource(64), "hugepages-64Ki");
}

TEST(MachineNode, AllocatableLacksWhatIsKeptBack) {
  MachineFacts facts{.cpus = 8, .memory_kib = 8 << 20, .disk_kib = 1000};
  topology::MachineNuma node;
  node.memory = {{"memory", 0}, {"hugepages-2Mi", std::int64_t{1} << 30U}};
  facts.numa.nodes = {node};
  const auto document = machine_node(
      facts,
      {.name = "n", .reserve = {.milli_cpu = 1500, .memory = 1 << 30, .storage = 100 * 1024}});
  const auto said = [&](const std::string& list, const std::string& resource) {
    const auto* value = api::find(*api::find_path(document, "status." + list), resource);
    return value ? std::string(value->get_string()) : "absent";
  };
  EXPECT_EQ(said("capacity", "cpu"), "8");
  EXPECT_EQ(said("allocatable", "cpu"), "6500m");
  EXPECT_EQ(said("capacity", "hugepages-2Mi"), "1048576Ki");
  EXPECT_EQ(said("allocatable", "hugepages-2Mi"), "1048576Ki");
  EXPECT_EQ(said("capacity", "memory"), "8388608Ki");
  EXPECT_EQ(said("allocatable", "memory"), fmt::format("{}Ki", (6 << 20) - 100 * 1024));
  EXPECT_EQ(said("allocatable", "ephemeral-storage"), "819200");
}

TEST(MachineNode, NothingIsBelowNothing) {
  const MachineFacts facts{.cpus = 1, .memory_kib = 1024, .disk_kib = 1};
  const auto document = machine_node(facts, {.name = "n", .reserve = {.milli_cpu = 5000}});
  const auto* allocatable = api::find_path(document, "status.allocatable");
  EXPECT_EQ(api::string_at(*allocatable, "cpu"), "0");
  EXPECT_EQ(api::string_at(*allocatable, "memory"), "0Ki");
}

} // namespace
} // namespace berth::node
