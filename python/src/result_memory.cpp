// SPDX-License-Identifier: Apache-2.0
#include "result_memory.hpp"

#include <numpy/ndarraytypes.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>

namespace exactile::python {
namespace {

constexpr std::size_t huge_page = 2 << 20;
/// What glibc keeps by itself when it is freed (M_MMAP_THRESHOLD, which rises to this).
constexpr std::size_t kept_by_malloc = 32 << 20;

bool is_large(std::size_t bytes) { return bytes > kept_by_malloc && bytes < SIZE_MAX - huge_page; }

std::size_t room_for(std::size_t bytes) {
  return is_large(bytes) ? (bytes + huge_page - 1) / huge_page * huge_page : bytes;
}

struct Block {
  void* memory = nullptr;
  std::size_t room = 0;
};

/// Arrays may be dropped by any thread.
constinit std::mutex guard;
constinit Block kept;

/// What was kept is the caller's now.
Block exchange_kept(Block block) {
  const std::lock_guard locked(guard);
  return std::exchange(kept, block);
}

void* take_kept(std::size_t room) {
  const std::lock_guard locked(guard);
  return kept.room == room ? std::exchange(kept, {}).memory : nullptr;
}

void* allocate(void*, std::size_t bytes) {
  if (!is_large(bytes)) return std::malloc(bytes);
  const std::size_t room = room_for(bytes);
  if (void* const memory = take_kept(room)) return memory;
  std::free(exchange_kept({}).memory);  // of another size: programs go on to other products
  void* const memory = std::aligned_alloc(huge_page, room);
  if (memory != nullptr) madvise(memory, room, MADV_HUGEPAGE);
  return memory;
}

void give_back(void*, void* memory, std::size_t bytes) {
  const std::size_t room = room_for(bytes);
  // A block that was resized may have lost its place.
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(memory) % huge_page == 0;
  if (!is_large(bytes) || !is_aligned || madvise(memory, room, MADV_FREE) != 0) return std::free(memory);
  std::free(exchange_kept({memory, room}).memory);
}

void* allocate_zeros(void* context, std::size_t count, std::size_t size) {
  if (size != 0 && count > SIZE_MAX / size) return nullptr;
  void* const memory = allocate(context, count * size);
  return memory == nullptr ? nullptr : std::memset(memory, 0, count * size);
}

/// For ndarray.resize(). Blocks stay as long as room_for() says of their arrays.
void* reallocate(void*, void* memory, std::size_t bytes) { return std::realloc(memory, room_for(bytes)); }

PyDataMem_Handler handler{"exactile_results", 1, {nullptr, allocate, allocate_zeros, reallocate, give_back}};

}  // namespace

PyObject* result_memory_for(std::size_t bytes) {
  static PyObject* const capsule = PyCapsule_New(&handler, "mem_handler", nullptr);
  return is_large(bytes) ? capsule : nullptr;
}

}  // namespace exactile::python
