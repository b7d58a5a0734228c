// SPDX-License-Identifier: Apache-2.0
/// \file
/// Copies an operand to where the engine reads it fastest: a row of memory for each k, its length a whole number of
/// vectors. Pays for large products whose operand is K-major, or without alignment, and for small tiles where copies of
/// single elements take longer.
#pragma once

#include "cuda/kernels/simt/panel_loader.cuh"

namespace exactile::cuda::simt {

inline constexpr int pack_edge = 32;
inline constexpr int pack_lines = 8;

/// to[k * to_pitch + row] for to_pitch rows; those beyond the operand's are zeros.
template <class T>
__global__ void __launch_bounds__(pack_edge* pack_lines)
    pack_kernel(const __grid_constant__ Panels<T> from, T* to, std::int64_t to_pitch) {
  __shared__ T tile[pack_edge][pack_edge + 1];  // [k][row]
  const bool k_major = from.k_stride == 1;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * pack_edge;
  for (std::int64_t k = static_cast<std::int64_t>(blockIdx.y) * pack_edge; k < from.k;
       k += static_cast<std::int64_t>(gridDim.y) * pack_edge) {
#pragma unroll
    for (int line = threadIdx.y; line < pack_edge; line += pack_lines) {
      const int r = k_major ? line : threadIdx.x;
      const int t = k_major ? threadIdx.x : line;
      tile[t][r] = row + r < from.rows && k + t < from.k
                       ? from.data[(row + r) * from.row_stride + (k + t) * from.k_stride]
                       : T{};
    }
    __syncthreads();
#pragma unroll
    for (int line = threadIdx.y; line < pack_edge; line += pack_lines)
      if (k + line < from.k && row + threadIdx.x < to_pitch)
        to[(k + line) * to_pitch + row + threadIdx.x] = tile[line][threadIdx.x];
    __syncthreads();
  }
}

}  // namespace exactile::cuda::simt
