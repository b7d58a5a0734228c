// SPDX-License-Identifier: Apache-2.0
/// \file
/// What has been split in registers times what lies in shared memory as slices.
#pragma once

#include "cuda/isa/wgmma.cuh"
#include "cuda/kernels/sm90/register_split.cuh"

namespace exactile::cuda::sm90 {

/// As isa::pin().
__device__ inline void pin(ChunkSlices& slices) {
#pragma unroll
  for (int i = 0; i < Fp16x3::slices * chunk_steps; ++i) isa::pin(slices.slice[i / chunk_steps][i % chunk_steps]);
}

/// fragment = the products of `steps` of a chunk with some of `columns` columns, small ones first. `sliced`: the
/// descriptor of the first of them (isa::wgmma_uniform()). The tensor cores read the slices until they have ended,
/// which the compiler does not know.
template <int columns, int first_step, int steps, int count>
__device__ inline void multiply_slices(float (&fragment)[count], ChunkSlices& slices, std::uint64_t sliced) {
  isa::pin(fragment);
  pin(slices);
  isa::wgmma_fence();
#pragma unroll
  for (int i = 0; i < Fp16x3::products * steps; ++i) {
    const SlicePair pair = Fp16x3::product(i / steps);
    const int step = first_step + i % steps;
    const int k = step * 16;
    const int place =
        k / block_k * columns * Fp16x3::row_bytes + Fp16x3::slice_offset(pair.b, columns) + k % block_k * 2;
    isa::wgmma_registers(fragment, slices.slice[pair.a][step], isa::wgmma_further(sliced, place), i != 0);
  }
  isa::wgmma_commit();
  isa::wgmma_wait<0>();
  isa::pin(fragment);
  pin(slices);
}

/// sums += fragment, in units of the largest element so far.
template <int count>
__device__ inline void add_fragment(float (&sums)[count], const float (&fragment)[count], const ChunkSlices& slices) {
#pragma unroll
  for (int i = 0; i < count; ++i) sums[i] = fmaf(fragment[i], slices.factor[i / 2 % 2], sums[i]);
}

}  // namespace exactile::cuda::sm90
