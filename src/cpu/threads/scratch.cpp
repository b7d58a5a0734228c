// SPDX-License-Identifier: Apache-2.0
#include "cpu/threads/scratch.hpp"

#include <sys/mman.h>

#include <memory>

#include "core/aligned_memory.hpp"
#include "core/checked.hpp"

namespace exactile::cpu {
namespace {

constexpr std::int64_t huge_page = 2 << 20;
/// A block of B fills half of L2: more pages than a core's first table of addresses has entries.
constexpr std::int64_t least_on_huge_pages = 256 << 10;

/// With room to begin on a huge page and to end with one, where that pays.
std::int64_t room_for(std::int64_t bytes) {
  return bytes < least_on_huge_pages ? bytes : core::round_up(bytes, huge_page) + huge_page;
}

/// Memory on huge pages: a block of an operand then needs few entries of the tables that turn addresses into places,
/// and prefetchers, which stop at the end of a page, run on. Where the system gives no huge pages it is as good as any
/// other.
struct Scratch {
  Scratch() = default;
  explicit Scratch(std::int64_t size) : memory(room_for(size)), start(memory.data()) {
    if (size < least_on_huge_pages || start == nullptr) return;
    const auto pages = static_cast<std::size_t>(core::round_up(size, huge_page));
    auto space = static_cast<std::size_t>(memory.size());
    std::align(huge_page, pages, start, space);
#ifdef MADV_HUGEPAGE
    madvise(start, pages, MADV_HUGEPAGE);
#endif
  }

  core::AlignedMemory memory;
  void* start = nullptr;
};

}  // namespace

void* thread_scratch(std::int64_t bytes) {
  thread_local Scratch scratch;
  if (scratch.memory.size() < room_for(bytes)) {
    scratch = Scratch();  // the old block first, so that the two never exist together
    scratch = Scratch(bytes);
  }
  return scratch.start;
}

}  // namespace exactile::cpu
