// SPDX-License-Identifier: Apache-2.0
#include "blas/scratch.hpp"

#include <pthread.h>

#include <new>

#include "blas/errors.hpp"

namespace exactile::blas {
namespace {

struct Block {
  void* memory;
  std::size_t bytes;
};
/// No destructor: routines may run where a thread_local object that has one is gone already.
constinit thread_local Block mine{nullptr, 0};

void give_back() noexcept {
  ::operator delete (mine.memory, std::align_val_t{64});
  mine = {nullptr, 0};
}

/// A key's value ends the block with its thread. The thread that ends the process keeps its own.
pthread_key_t end_of_thread;
bool has_key = false;  ///< where keys are exhausted blocks stay
pthread_once_t asked_for_key = PTHREAD_ONCE_INIT;

}  // namespace

void* thread_scratch(std::size_t bytes) {
  if (bytes <= mine.bytes) return mine.memory;
  pthread_once(&asked_for_key, [] { has_key = pthread_key_create(&end_of_thread, [](void*) { give_back(); }) == 0; });
  give_back();
  mine.memory = ::operator new (bytes, std::align_val_t{64}, std::nothrow);
  if (mine.memory == nullptr) stop("out of memory for a block of a triangle");
  mine.bytes = bytes;
  if (has_key) pthread_setspecific(end_of_thread, mine.memory);
  return mine.memory;
}

}  // namespace exactile::blas
