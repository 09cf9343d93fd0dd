#include "berth/base/huge_pages.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

// Whether the program is linked with mimalloc.
extern "C" __attribute__((weak)) int mi_version();

namespace berth {
namespace {

/// The kernel's flags of the mapping that the address is in.
std::string flags_of(const void* address) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  std::ifstream maps("/proc/self/smaps");
  bool here = false;
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t from = 0;
    std::uintptr_t to = 0;
    char dash = 0;
    std::istringstream words(line);
    if (words >> std::hex >> from >> dash >> to && dash == '-') {
      here = from <= at && at < to;
    } else if (here && line.starts_with("VmFlags:")) {
      return line;
    }
  }
  return "";
}

TEST(HugePages, WhatIsAllocatedAfterwardsAsksForThem) {
  if (mi_version == nullptr || !std::filesystem::exists("/sys/kernel/mm/transparent_hugepage")) {
    GTEST_SKIP() << "another allocator, or a kernel without transparent huge pages";
  }
  allocate_by_huge_pages();
  constexpr std::size_t kSize = std::size_t{20} << 20U; // more than any segment has left
  const auto block = std::make_unique<char[]>(kSize);
  block[kSize - 1] = 1;
  EXPECT_NE(flags_of(block.get()).find(" hg"), std::string::npos) << flags_of(block.get());
}

} // namespace
} // namespace berth
