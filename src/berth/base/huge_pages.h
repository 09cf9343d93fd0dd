// Memory for processes that live long and hold much: by pages of 2 MiB, and kept.
#pragma once

namespace berth {

/// From now on this process allocates from an area of 16 GiB of address space, of which what is
/// touched comes by huge pages where the system has them (transparent_hugepage is "always" or
/// "madvise"), and does not go back before the process ends: a server that grows pays a page fault
/// for 2 MiB instead of 4 KiB, and none for memory that it had before. What does not fit is
/// allocated as ever. Does nothing where the allocator is not mimalloc or address space is short.
/// Once, before there are other threads.
void allocate_by_huge_pages();

} // namespace berth
