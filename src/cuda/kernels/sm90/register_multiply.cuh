// SPDX-License-Identifier: Apache-2.0
/// \file
/// What has been split in registers times what lies in shared memory as slices.
#pragma once

#include "cuda/isa/wgmma_uniform.cuh"
#include "cuda/kernels/sm90/register_split.cuh"

namespace exactile::cuda::sm90 {

/// As isa::pin().
__device__ inline void pin(ChunkSlices& slices) {
#pragma unroll
  for (int i = 0; i < Fp16x3::slices * chunk_steps; ++i) isa::pin(slices.slice[i / chunk_steps][i % chunk_steps]);
}

/// fragment = the products of one chunk with some of `columns` columns, small ones first. `sliced`: the descriptor of
/// the first of them (isa::wgmma_uniform()). The tensor cores read the slices until they have ended, which the compiler
/// does not know.
template <int columns, int count>
__device__ inline void multiply_slices(float (&fragment)[count], ChunkSlices& slices, std::uint64_t sliced) {
  isa::pin(fragment);
  pin(slices);
  isa::wgmma_fence();
#pragma unroll
  for (int i = 0; i < Fp16x3::products * chunk_steps; ++i) {
    const SlicePair pair = Fp16x3::product(i / chunk_steps);
    const int k = i % chunk_steps * 16;
    const int place =
        k / block_k * columns * Fp16x3::row_bytes + Fp16x3::slice_offset(pair.b, columns) + k % block_k * 2;
    isa::wgmma_registers(fragment, slices.slice[pair.a][i % chunk_steps], isa::wgmma_further(sliced, place), i != 0);
  }
  isa::wgmma_commit();
  isa::wgmma_wait<0>();
  isa::pin(fragment);
  pin(slices);
}

}  // namespace exactile::cuda::sm90
