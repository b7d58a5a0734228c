// SPDX-License-Identifier: Apache-2.0
#include "cpu/threads/scratch.hpp"

#include "core/aligned_memory.hpp"

namespace exactile::cpu {

void* thread_scratch(std::int64_t bytes) {
  thread_local core::AlignedMemory memory;
  if (memory.size() < bytes) {
    memory = core::AlignedMemory();  // the old block first, so that the two never exist together
    memory = core::AlignedMemory(bytes);
  }
  return memory.data();
}

}  // namespace exactile::cpu
