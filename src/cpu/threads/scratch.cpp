// SPDX-License-Identifier: Apache-2.0
#include "cpu/threads/scratch.hpp"

#include <pthread.h>
#include <sys/mman.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <type_traits>

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
void* on_huge_pages(void* memory, std::int64_t room, std::int64_t size) {
  if (size < least_on_huge_pages || memory == nullptr) return memory;
  const auto pages = static_cast<std::size_t>(core::round_up(size, huge_page));
  auto space = static_cast<std::size_t>(room);
  std::align(huge_page, pages, memory, space);
#ifdef MADV_HUGEPAGE
  madvise(memory, pages, MADV_HUGEPAGE);
#endif
  return memory;
}

/// The calling thread's memory. It has no destructor: products may run in atexit handlers and in the destructors of
/// static and thread-local objects, where a thread_local object with a destructor may be gone already.
struct Scratch {
  void* memory;  ///< what is freed
  void* start;
  std::int64_t size;
};
static_assert(std::is_trivially_destructible_v<Scratch>);
constinit thread_local Scratch mine{};

void free_mine(void*) {
  std::free(mine.memory);
  mine = {};
}

/// A thread's values of a key are destroyed after its thread_local objects, and once more where a destructor has set
/// them anew. The thread that ends the process destroys none: its memory lives as long as the process does.
void free_at_end_of_thread() {
  static const std::optional<pthread_key_t> key = [] {
    pthread_key_t made = 0;
    return pthread_key_create(&made, free_mine) == 0 ? std::optional(made) : std::nullopt;
  }();
  if (key) pthread_setspecific(*key, &mine);
}

}  // namespace

void* thread_scratch(std::int64_t bytes) {
  const std::int64_t room = room_for(bytes);
  if (mine.size < room) {
    free_mine(nullptr);  // the old block first, so that the two never exist together
    core::AlignedMemory memory(room);
    mine = {.memory = memory.data(), .start = on_huge_pages(memory.data(), room, bytes), .size = memory.size()};
    free_at_end_of_thread();
    static_cast<void>(memory.release());
  }
  return mine.start;
}

}  // namespace exactile::cpu
