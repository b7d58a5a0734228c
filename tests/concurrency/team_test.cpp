// SPDX-License-Identifier: Apache-2.0
// The workers behind a product, where memory runs out. A binary of its own, because it replaces operator new.
#include "core/team.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {
thread_local int allocations_left = -1;  ///< negative: no limit
}

void* operator new(std::size_t size, std::align_val_t alignment) {
  if (allocations_left == 0) throw std::bad_alloc();
  if (allocations_left > 0) --allocations_left;
  const auto step = static_cast<std::size_t>(alignment);
  if (void* memory = std::aligned_alloc(step, (size + step - 1) / step * step)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t size) { return operator new(size, std::align_val_t(alignof(std::max_align_t))); }
void* operator new[](std::size_t size) { return operator new(size); }
void* operator new[](std::size_t size, std::align_val_t alignment) { return operator new(size, alignment); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace exactile::core {
namespace {

int members_of_a_team(int wanted) {
  std::atomic<int> members = 0;
  run_team(wanted, [&](const Member&) { ++members; });
  return members;
}

/// A team of `wanted` where only so many allocations succeed; whether it came about.
bool runs_with_memory_for(int allocations, int wanted) {
  allocations_left = allocations;
  bool ran = true;
  try {
    run_team(wanted, [](const Member&) {});
  } catch (const std::bad_alloc&) {
    ran = false;
  }
  allocations_left = -1;
  return ran;
}

TEST(Team, NoWorkerIsLostWhereMemoryRunsOut) {
  ASSERT_EQ(members_of_a_team(4), 4);
  int failures = 0;
  for (int allocations = 0; allocations < 6; ++allocations) {
    failures += runs_with_memory_for(allocations, 4) ? 0 : 1;
    EXPECT_EQ(members_of_a_team(4), 4) << "after a call with memory for " << allocations << " allocations";
  }
  EXPECT_GE(failures, 1);  // the list of workers
}

TEST(Team, WithoutMemoryForWorkersTheCallerIsTheTeam) {
  ASSERT_EQ(members_of_a_team(4), 4);
  EXPECT_EQ(members_of_a_team(1), 1);
  EXPECT_TRUE(runs_with_memory_for(0, 1));
}

}  // namespace
}  // namespace exactile::core
