// SPDX-License-Identifier: Apache-2.0
/// \file
/// Accumulators that some threads of stream-K leave in memory for others, where the two share a tile; see stream_k.hpp.
#pragma once

#include <cuda/atomic>

#include <cstdint>

namespace exactile::cuda {

/// Sums of one thread that fill 16 bytes.
template <class Accumulator>
struct alignas(16) AccumulatorWord {
  static constexpr int count = 16 / sizeof(Accumulator);
  Accumulator at[count];
};

/// A thread's sums go to `place`, and on from there `threads` words apart, so that neighbours write neighbouring words.
template <class Accumulator, int rows, int columns>
__device__ inline void store_accumulators(const Accumulator (&sums)[rows][columns], AccumulatorWord<Accumulator>* place,
                                          int threads) {
  constexpr int count = AccumulatorWord<Accumulator>::count;
  static_assert(rows * columns % count == 0);
#pragma unroll
  for (int i = 0; i < rows * columns; i += count, place += threads) {
    AccumulatorWord<Accumulator> word;
#pragma unroll
    for (int e = 0; e < count; ++e) word.at[e] = sums[(i + e) / columns][(i + e) % columns];
    *place = word;
  }
}

/// What store_accumulators() has written there, by way of L2.
template <class Accumulator, int rows, int columns>
__device__ inline void load_accumulators(Accumulator (&sums)[rows][columns], const AccumulatorWord<Accumulator>* place,
                                         int threads) {
  constexpr int count = AccumulatorWord<Accumulator>::count;
#pragma unroll
  for (int i = 0; i < rows * columns; i += count, place += threads) {
    union {
      uint4 bits;
      AccumulatorWord<Accumulator> word;
    } read{.bits = __ldcg(reinterpret_cast<const uint4*>(place))};
#pragma unroll
    for (int e = 0; e < count; ++e) sums[(i + e) / columns][(i + e) % columns] = read.word.at[e];
  }
}

/// By one thread, behind a barrier of all whose stores are to be seen. `ready` was zero.
__device__ inline void signal_ready(unsigned& ready) {
  ::cuda::atomic_ref<unsigned, ::cuda::thread_scope_device>(ready).store(1, ::cuda::memory_order_release);
}

/// Waits until another thread has announced.
__device__ inline void wait_until_ready(unsigned& ready) {
  const ::cuda::atomic_ref<unsigned, ::cuda::thread_scope_device> announced(ready);
  while (announced.load(::cuda::memory_order_acquire) == 0) __nanosleep(100);
}

}  // namespace exactile::cuda
