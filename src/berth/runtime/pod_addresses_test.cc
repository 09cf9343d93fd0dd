#include "berth/runtime/pod_addresses.h"

#include <set>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::runtime {
namespace {

using ::testing::StartsWith;

TEST(PodAddresses, AreTheLowestThatAreFree) {
  PodAddresses addresses("gpu-3");
  const std::string first = addresses.take();
  EXPECT_THAT(first, ::testing::EndsWith(".3.2"));
  const std::string second = addresses.take();
  EXPECT_THAT(second, ::testing::EndsWith(".3.3"));
  addresses.give_back(first);
  EXPECT_EQ(addresses.take(), first);
  addresses.give_back("10.0.0.1");
  EXPECT_NE(addresses.take(), second);
}

TEST(PodAddresses, RepeatOnlyWhenAllAreTaken) {
  PodAddresses addresses("n1");
  std::set<std::string> taken;
  for (int i = 0; i < 253; ++i) {
    EXPECT_TRUE(taken.insert(addresses.take()).second);
  }
  EXPECT_TRUE(taken.contains(addresses.take()));
}

TEST(PodAddresses, MachinesOfOneGroupNeverShareOne) {
  std::set<std::string> firsts;
  for (int machine = 0; machine < 4096; ++machine) {
    PodAddresses addresses(fmt::format("rack-a-{}", machine));
    const std::string address = addresses.take();
    EXPECT_TRUE(firsts.insert(address).second) << machine << " " << address;
  }
}

TEST(PodAddresses, AreSharedAddressSpaceWhateverTheName) {
  for (const char* name : {"", "n", "7", "node-99999999999999999999999", "a.b.c"}) {
    PodAddresses addresses(name);
    const std::string address = addresses.take();
    int a = 0;
    int b = 0;
    int c = 0;
    int d = 0;
    ASSERT_EQ(std::sscanf(address.c_str(), "%d.%d.%d.%d", &a, &b, &c, &d), 4) << address;
    EXPECT_EQ(a, 100);
    EXPECT_TRUE(b >= 64 && b < 128) << address;
    EXPECT_TRUE(c >= 0 && c < 256) << address;
    EXPECT_EQ(d, 2);
    EXPECT_THAT(PodAddresses(name).take(), StartsWith(address)) << "stable";
  }
}

} // namespace
} // namespace berth::runtime
