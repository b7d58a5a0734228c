// SPDX-License-Identifier: Apache-2.0
/// \file
/// A warp's sums, in the registers of mma.sync.
#pragma once

#include "cuda/isa/mma_m16n8.cuh"
#include "cuda/kernels/sm90/few_rows/reader.cuh"

namespace exactile::cuda::sm90::few_rows {

/// A warp's 64 columns of B times the rows of A.
template <class S>
class WarpAccumulators {
 public:
  using Accumulator = typename S::Accumulator;

  __device__ void clear() {
#pragma unroll
    for (auto& fragment : sums_)
#pragma unroll
      for (auto& group : fragment)
#pragma unroll
        for (Accumulator& x : group) x = 0;
  }

  __device__ void add(const Stage<S>& stage) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int step = 0; step < stage_bytes / 32; ++step) {
      std::uint32_t rows[S::row_groups][4];  // an instruction takes the first two, or those of both groups
#pragma unroll
      for (int r = 0; r < S::row_groups; r += 2) {
        // Matrices 0 and 1: rows 0 to 7, 2 and 3: rows 8 to 15 or again the first.
        const int row = (8 * r + lane % 8 + lane / 16 * 8) % S::rows;
        isa::load_matrices(rows[r], &stage.a[row][Stage<S>::swizzled(row, 2 * step + lane / 8 % 2)]);
      }
#pragma unroll
      for (int f = 0; f < 4; ++f) {
        std::uint32_t b[4];
        load_b(stage, step, f, b);
#pragma unroll
        for (int r = 0; r < S::row_groups; ++r) {
          const std::uint32_t of_group[2] = {rows[r & ~1][r % 2 * 2], rows[r & ~1][r % 2 * 2 + 1]};
          isa::mma<typename S::Element>(sums_[f][r], b, of_group);
        }
      }
    }
  }

  /// += more, or = more if it is the first.
  __device__ void take(const WarpAccumulators& more, bool is_first) {
#pragma unroll
    for (int f = 0; f < 4; ++f)
#pragma unroll
      for (int r = 0; r < S::row_groups; ++r)
#pragma unroll
        for (int e = 0; e < 4; ++e)
          sums_[f][r][e] = is_first ? more.sums_[f][r][e] : cuda::add(sums_[f][r][e], more.sums_[f][r][e]);
  }

  /// [row][column]
  __device__ void store(Accumulator* to) const {
    const int group = static_cast<int>(threadIdx.x) % 32 / 4, member = static_cast<int>(threadIdx.x) % 4;
#pragma unroll
    for (int f = 0; f < 4; ++f)
#pragma unroll
      for (int r = 0; r < S::row_groups; ++r)
#pragma unroll
        for (int e = 0; e < 4; ++e)
          to[(8 * r + 2 * member + e % 2) * tile_n + 16 * f + group + e / 2 * 8] = sums_[f][r][e];
  }

 private:
  /// 16 columns and 32 bytes of K.
  static __device__ void load_b(const Stage<S>& stage, int step, int f, std::uint32_t (&to)[4]) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    if constexpr (S::k_major) {
      const int column = 16 * f + lane % 16;
      isa::load_matrices(to, &stage.b[column][Stage<S>::swizzled(column, 2 * step + lane / 16)]);
    } else {
      const int k = 16 * step + lane % 8 + lane / 16 * 8;
      isa::load_matrices_transposed(to, &stage.b[k][Stage<S>::swizzled(k, 2 * f + lane / 8 % 2)]);
    }
  }

  Accumulator sums_[4][S::row_groups][4];
};

}  // namespace exactile::cuda::sm90::few_rows
