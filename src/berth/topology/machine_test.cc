#include "berth/topology/machine.h"

#include <set>

#include <gtest/gtest.h>

#include "berth/testing/numa_machines.h"

namespace berth::topology {
namespace {

Machine of(std::string_view platform) {
  return machine_of(*hardware::Catalogue::builtin().find(platform));
}

TEST(Machine, OfAnIntelServerHasTwoThreadsACoreAndOneCacheASocket) {
  const Machine machine = of("dgx-h100");
  EXPECT_EQ(machine.cpus.size(), 224u);
  EXPECT_EQ(machine.threads_per_core(), 2);
  EXPECT_EQ(machine.cpus_per_uncore_cache(), 112);
  EXPECT_EQ(machine.sockets(), 2);
  EXPECT_EQ(machine.all_nodes(), NumaMask::of({0, 1}));
  EXPECT_EQ(machine.cpus[112].core, 0);
  EXPECT_EQ(machine.cpus[112].numa, 0);
  EXPECT_EQ(machine.cpus[56].core, 56);
  EXPECT_EQ(machine.cpus[168].core, 56);
  EXPECT_EQ(machine.cpus[168].numa, 1);
  EXPECT_EQ(machine.nodes[0].memory.at("memory"), std::int64_t{1024} << 30);
  EXPECT_EQ(machine.distance(0, 0), 10);
  EXPECT_EQ(machine.distance(0, 1), 21);
}

TEST(Machine, OfAnEpycHasCachesOfAFewCores) {
  EXPECT_EQ(of("dgx-a100").cpus_per_uncore_cache(), 8) << "Zen 2: four cores";
  EXPECT_EQ(of("hgx-a100-4").cpus_per_uncore_cache(), 16) << "Zen 3: eight cores";
  EXPECT_EQ(of("dgx-a100").distance(0, 1), 12) << "the same socket";
  EXPECT_EQ(of("dgx-a100").distance(0, 4), 21);
}

TEST(Machine, OfAGraceHasOneThreadACore) {
  EXPECT_EQ(of("gb200-nvl72").threads_per_core(), 1);
  EXPECT_EQ(of("gb200-nvl72").cpus_per_uncore_cache(), 72);
}

TEST(Machine, OfEveryPlatformAgreesWithIt) {
  for (const std::string& name : hardware::Catalogue::builtin().names()) {
    const hardware::Platform& platform = *hardware::Catalogue::builtin().find(name);
    const Machine machine = machine_of(platform);
    EXPECT_EQ(machine.cpus.size(), static_cast<std::size_t>(platform.cpus)) << name;
    EXPECT_EQ(machine.nodes.size(), platform.numa.size()) << name;
    EXPECT_EQ(machine.sockets(), platform.sockets) << name;
    EXPECT_EQ(machine.all_cpus().size(), machine.cpus.size()) << name << ": an id is there twice";
    for (const Cpu& cpu : machine.cpus) {
      const Cpu& first = machine.cpus[static_cast<std::size_t>(cpu.core)];
      ASSERT_EQ(first.id, cpu.core) << name;
      ASSERT_EQ(first.numa, cpu.numa) << name;
      ASSERT_EQ(first.uncore_cache, cpu.uncore_cache) << name;
    }
  }
}

TEST(Machine, OfMoreNodesThanHaveCpusKnowsWhichDo) {
  const Machine machine = test::gb200_machine();
  EXPECT_EQ(machine.all_nodes().count(), 34);
  EXPECT_EQ(machine.nodes_with_cpus(), NumaMask::of({0, 1}));
  EXPECT_EQ(machine.distance(99, 0), 255);
}

} // namespace
} // namespace berth::topology
