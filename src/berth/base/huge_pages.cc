#include "berth/base/huge_pages.h"

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

// mimalloc's, where the program is linked with it.
extern "C" __attribute__((weak)) bool mi_manage_os_memory(void* start, std::size_t size,
                                                          bool is_committed, bool is_large,
                                                          bool is_zero, int numa_node);

namespace berth {
namespace {

constexpr std::size_t kArea = std::size_t{16} << 30U;
constexpr std::size_t kAlignment = std::size_t{64} << 20U; ///< of mimalloc's segments, at least
constexpr int kAnyNode = -1;

} // namespace

void allocate_by_huge_pages() {
  if (mi_manage_os_memory == nullptr) {
    return;
  }
  void* mapped = ::mmap(nullptr, kArea + kAlignment, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) { // address space is limited
    return;
  }
  const auto at = reinterpret_cast<std::uintptr_t>(mapped);
  void* start = reinterpret_cast<void*>((at + kAlignment - 1) / kAlignment * kAlignment);
  (void)::madvise(start, kArea, MADV_HUGEPAGE); // else by small ones
  constexpr bool kCommitted = true;
  constexpr bool kLarge = true; // is not given back
  constexpr bool kZero = true;
  (void)mi_manage_os_memory(start, kArea, kCommitted, kLarge, kZero, kAnyNode);
}

} // namespace berth
