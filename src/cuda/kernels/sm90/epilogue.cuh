// SPDX-License-Identifier: Apache-2.0
/// \file
/// From sums in registers to C: scale back, notice what the slices could not hold, apply the epilogue, store.
///
/// Elements whose error may exceed the promise are left to the fix-up kernels. Which ones depends on their row of A and
/// their column of B alone, so the bits of an element do not depend on what else is computed with it.
#pragma once

#include "cuda/isa/opaque.cuh"
#include "cuda/isa/tma.cuh"
#include "cuda/isa/warpgroup.cuh"
#include "cuda/kernels/sm90/element_scales.cuh"

namespace exactile::cuda::sm90 {

/// 64 rows of C on their way out; 32 columns are swizzled as TMA expects it: 16 bytes at (c ^ row % 8) instead of c.
template <int columns>
struct Staging {
  alignas(columns * 32) std::byte data[64 * columns * 4];

  [[nodiscard]] __device__ std::byte* at(int row, int column) {
    return data + row * columns * 4 + ((column / 4 ^ row % (columns / 4)) * 16) + column % 4 * 4;
  }
};

/// NaNs that no operation makes. They stand for an element that is not stored, and for one to be summed from A and B.
inline constexpr unsigned skipped_bits = 0x7fe5ca1eu;
inline constexpr unsigned unsummed_bits = 0x7fe5ca1fu;

/// Rows of a warp from staging to C, neighbouring columns at a time. This is there once for every piece of a tile, so
/// it must be short: the activation has a loop of its own.
template <Pass pass, int columns>
__device__ inline void store_rows(const Output& c, Staging<columns>& staging, const FragmentCoord& at, int column,
                                  const SplitPair& operands) {
  constexpr int rows_at_once = 32 / columns;
  constexpr int together = 8;  // whose loads are in flight at a time
  Epilogue<float, float> linear = c.epilogue;
  linear.activation = Activation::none;
  const int j = column + at.lane % columns;
  float* const base = product_base(c.data, c.layout, at.batch) + j * c.layout.column_stride;
  const std::int64_t step = rows_at_once * c.layout.row_stride;
#pragma unroll 1
  for (int done = 0; done < 16; done += together * rows_at_once) {
    const int first = 16 * at.warp + done + at.lane / columns;
    // Rows of this thread that are there.
    const int rows = j < c.columns ? (c.rows - at.row - first + rows_at_once - 1) / rows_at_once : 0;
    float* const to = base + (at.row + first) * c.layout.row_stride;
    float before[together];
#pragma unroll
    for (int r = 0; r < together; ++r) before[r] = c.epilogue.reads_c && r < rows ? to[r * step] : 0.0f;
#pragma unroll
    for (int r = 0; r < together; ++r) {
      const int i = at.row + first + r * rows_at_once;
      auto* const staged = reinterpret_cast<float*>(staging.at(first + r * rows_at_once, at.lane % columns));
      float sum = *staged;
      if constexpr (!leaves_some(pass)) {
        unsigned unsummed = __ballot_sync(~0u, r < rows && __float_as_uint(sum) == unsummed_bits);
        if (unsummed != 0 && at.lane == 0) count_f32_sums(c, __popc(unsummed));
        for (; unsummed != 0; unsummed &= unsummed - 1) {
          const int lane = __ffs(static_cast<int>(unsummed)) - 1;
          const float summed = warp_sum(operands, at.batch, __shfl_sync(~0u, i, lane), __shfl_sync(~0u, j, lane));
          if (at.lane == lane) sum = summed;
        }
      }
      if (r >= rows || __float_as_uint(sum) == skipped_bits) continue;
      if (!linear.is_plain) sum = linear.value(sum, before[r], i, j);
      if (c.epilogue.activation == Activation::none) {
        to[r * step] = sum;
      } else {
        *staged = sum;
      }
    }
    if (c.epilogue.activation == Activation::none) continue;
#pragma unroll 1
    for (int r = 0; r < min(rows, together); ++r) {
      const float sum = *reinterpret_cast<const float*>(staging.at(first + r * rows_at_once, at.lane % columns));
      if (__float_as_uint(sum) != skipped_bits) to[r * step] = c.epilogue.activate(sum);
    }
  }
}

/// What a warpgroup needs beside its sums to store them.
template <int staging_columns, int staging_buffers>
struct StoreSpace {
  static constexpr int columns = staging_columns;
  static constexpr int buffers = staging_buffers;
  Staging<columns> staging[buffers];
  ColumnScales scales;
};

/// The first `count` sums go, and the others come forward. So pieces of a tile can be taken in a loop although
/// registers cannot be counted through.
template <int count>
__device__ inline void take_forward(Accumulators& sums) {
  constexpr int in_fragment = fragment_n / 2;
#pragma unroll
  for (int i = 0; i + count < fragments * in_fragment; ++i)
    sums[i / in_fragment][i % in_fragment] = sums[(i + count) / in_fragment][(i + count) % in_fragment];
}

/// The first `count` marks of four words go, others come forward, and `last` come behind them.
template <int count>
__device__ inline void take_forward(unsigned (&marks)[4], unsigned last) {
#pragma unroll
  for (int i = 0; i < 4; ++i) marks[i] = __funnelshift_r(marks[i], i < 3 ? marks[i + 1] : last, count);
}

/// The first sums of all threads to staging, scaled back; marks of those that are not this kernel's. `wanted`: marks of
/// those that are, in Pass::fixup.
template <Pass pass, int columns>
[[nodiscard]] __device__ inline unsigned stage_piece(const Accumulators& sums, Staging<columns>& to,
                                                     const PackedScale* column_scales, const PackedScale (&rows)[2],
                                                     const FragmentCoord& at, float most_error, unsigned wanted) {
  unsigned marks = 0;
#pragma unroll
  for (int g = 0; g < columns / 8; ++g) {
    const int column = 8 * g + 2 * (at.lane % 4);
    const uint2 scales = *reinterpret_cast<const uint2*>(column_scales + column);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float pair[2];
#pragma unroll
      for (int s = 0; s < 2; ++s) {
        const int index = 4 * g + 2 * r + s;
        const PackedScale scale = s == 0 ? scales.x : scales.y;
        const float sum = sums[0][index];
        const unsigned mark = 1u << index;
        pair[s] = scaled_back(sum, rows[r], scale);
        if (needs_fixup(sum, rows[r], scale, leaves_some(pass) ? most_error : __builtin_inff())) {
          if (leaves_some(pass)) marks |= mark;
          pair[s] = __uint_as_float(leaves_some(pass) ? skipped_bits : unsummed_bits);
        }
        if (pass == Pass::fixup && (wanted & mark) == 0) pair[s] = __uint_as_float(skipped_bits);
      }
      *reinterpret_cast<float2*>(to.at(16 * at.warp + at.lane / 4 + 8 * r, column)) = make_float2(pair[0], pair[1]);
    }
  }
  return marks;
}

/// Stores a warpgroup's sums, piece by piece. The code for storing by rows is there once: for each of 16 pieces it took
/// longer to come from memory than to run.
template <class Slices, Pass pass, bool by_tma, class Space>
__device__ inline void store_pieces(Accumulators& sums, const Output& c, const CUtensorMap* c_map, Space& space,
                                    const FragmentCoord& at, int barrier, const ProductScales& product,
                                    const SplitPair& operands, unsigned (&marks)[4]) {
  PackedScale rows[2];
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = at.thread_row(r);
    rows[r] = packed_scale<Slices>(product.rows.max_bits[row], product.rows.underflows[row], product.underflow_scale);
  }
  const bool is_issuer = at.warp == 0 && at.lane == 0;
  constexpr int piece_sums = Space::columns / 2;
  constexpr int pieces = width_of(pass) / Space::columns;
#pragma unroll(by_tma ? pieces : 1)
  for (int piece = 0; piece < pieces; ++piece) {
    auto& out = space.staging[piece % Space::buffers];
    const int first_column = at.column + piece * Space::columns;
    unsigned piece_marks = 0;
    if (first_column < c.columns) {
      if constexpr (by_tma) {
        // The tile before may have ended in either half of the staging.
        if (is_issuer) piece == 0 ? isa::tma_store_wait_read<0>() : isa::tma_store_wait_read<1>();
        isa::named_barrier(barrier, warpgroup_threads);
      } else {
        __syncwarp();
      }
      piece_marks = stage_piece<pass>(sums, out, space.scales.scale + piece * Space::columns, rows, at,
                                      product.most_element_error, marks[0]);
      if constexpr (by_tma) {
        isa::async_proxy_fence();
        isa::named_barrier(barrier, warpgroup_threads);
        if (is_issuer) {
          isa::tma_store(c_map, first_column, at.row, at.batch, &out);
          isa::tma_store_commit();
        }
      } else {
        __syncwarp();
        store_rows<pass>(c, out, at, first_column, operands);
      }
    }
    take_forward<piece_sums>(sums);
    if constexpr (leaves_some(pass) || pass == Pass::fixup) take_forward<piece_sums>(marks, piece_marks);
  }
}

/// Stores a warpgroup's sums. `marks`: which to store in Pass::fixup; afterwards, which are left, those of
/// a part of a tile in the last words.
/// `barrier`: a named barrier of the warpgroup's own.
template <class Slices, Pass pass, class Space>
__device__ inline void store_tile(Accumulators& sums, const Output& c, const CUtensorMap* c_map, Space& space,
                                  const FragmentCoord& at, int barrier, const ProductScales& product,
                                  const SplitPair& operands, unsigned (&marks)[4]) {
  if (leaves_some(pass) && c.by_tma) {
    store_pieces<Slices, pass, true>(sums, c, c_map, space, at, barrier, product, operands, marks);
  } else {
    // Not kept from further up: there is more to be found here, and fewer registers for it.
    const FragmentCoord here{at.row, at.column, at.batch, isa::opaque(at.warp), isa::opaque(at.lane)};
    store_pieces<Slices, pass, false>(sums, c, c_map, space, here, barrier, product, operands, marks);
  }
}

}  // namespace exactile::cuda::sm90
