// SPDX-License-Identifier: Apache-2.0
#include "cpu/threads/scratch.hpp"

#include <sys/mman.h>

#include <memory>

#include "core/aligned_memory.hpp"

namespace exactile::cpu {
namespace {

constexpr std::int64_t huge_page = 2 << 20;

/// Memory that begins on a huge page, where it fills one: a block of an operand then needs few entries of the tables
/// that turn addresses into places. Where the system gives no huge pages it is as good as any other.
struct Scratch {
  Scratch() = default;
  explicit Scratch(std::int64_t size) : memory(size < huge_page ? size : size + huge_page), start(memory.data()) {
    if (size < huge_page || start == nullptr) return;
    auto space = static_cast<std::size_t>(memory.size());
    std::align(huge_page, static_cast<std::size_t>(size), start, space);
#ifdef MADV_HUGEPAGE
    madvise(start, static_cast<std::size_t>(size), MADV_HUGEPAGE);
#endif
  }

  core::AlignedMemory memory;
  void* start = nullptr;
};

}  // namespace

void* thread_scratch(std::int64_t bytes) {
  thread_local Scratch scratch;
  if (scratch.memory.size() < bytes + (bytes < huge_page ? 0 : huge_page)) {
    scratch = Scratch();  // the old block first, so that the two never exist together
    scratch = Scratch(bytes);
  }
  return scratch.start;
}

}  // namespace exactile::cpu
