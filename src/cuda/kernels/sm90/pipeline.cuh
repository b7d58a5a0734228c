// SPDX-License-Identifier: Apache-2.0
/// \file
/// A producer/consumer pipeline through shared memory: stages that are loaded, used and loaded over in turn.
#pragma once

#include "cuda/isa/mbarrier.cuh"

namespace exactile::cuda::sm90 {

/// Barriers of a pipeline of at most `most` stages.
template <int most>
struct PipelineBarriers {
  std::uint64_t full[most];
  std::uint64_t empty[most];

  /// By one thread. `arrivals`: until a stage is full, and until it may be loaded over.
  __device__ void initialise(int full_arrivals, int empty_arrivals) {
    for (int i = 0; i < most; ++i) {
      isa::mbarrier_init(&full[i], full_arrivals);
      isa::mbarrier_init(&empty[i], empty_arrivals);
    }
  }
};

/// Where a producer or a consumer is in a pipeline.
struct PipelineState {
  int index = 0;
  std::uint32_t parity = 0;

  __device__ void advance(int count) {
    if (++index == count) {
      index = 0;
      parity ^= 1;
    }
  }
};

}  // namespace exactile::cuda::sm90
