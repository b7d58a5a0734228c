// SPDX-License-Identifier: Apache-2.0
/// \file
/// From sums in registers to C by TMA: to rows of C, or to columns.
#pragma once

#include "cuda/isa/store_matrix.cuh"
#include "cuda/isa/tma.cuh"
#include "cuda/isa/uniform.cuh"
#include "cuda/isa/warpgroup.cuh"
#include "cuda/kernels/sm90/native/output.cuh"

namespace exactile::cuda::sm90::native {

/// A warpgroup's sums: thread 32w + l holds at [4j + 2r + c] row 16w + l / 4 + 8r, column 8j + 2(l % 4) + c.
struct FragmentCoord {
  int row;     ///< of the warpgroup's first
  int column;  ///< of the tile's first
  int batch;
  int warp;  ///< known to the compiler to be the same in all its threads
  int lane;
  int row_end;    ///< behind the last that may be stored
  int box_row;    ///< where C's tensor map has the warp's rows
  int box_batch;  ///< and in which of its matrices
  int group;      ///< whose scales of columns are taken; 0 where there are no groups
};

/// Two of them side by side, for one store.
template <class Accumulator>
struct alignas(2 * sizeof(Accumulator)) AccumulatorPair {
  Accumulator first;
  Accumulator second;
};

/// 64 rows of 128 bytes of C on their way out, swizzled as TMA expects it.
struct Staging {
  alignas(1024) std::byte data[64 * row_bytes];

  /// Of a byte within a row; what lies within 16 bytes stays together.
  [[nodiscard]] __device__ std::byte* at(int row, int byte) { return data + offset(row, byte); }
  [[nodiscard]] __device__ const std::byte* at(int row, int byte) const { return data + offset(row, byte); }

 private:
  [[nodiscard]] __device__ static int offset(int row, int byte) {
    return row * row_bytes + ((byte / 16 ^ row % 8) * 16) + byte % 16;
  }
};

/// Columns of C that lie in `bytes` an element in the staging's rows, and the pieces of that width that a tile has.
template <class T, int bytes>
struct Pieces {
  static constexpr int columns = row_bytes / bytes;
  static constexpr int count = (T::tile_n + columns - 1) / columns;
  static constexpr bool fill_boxes = stores_boxes(T::tile_n, bytes);
  /// Of piece `index`: the last may be narrower.
  [[nodiscard]] __device__ static constexpr int width(int index) {
    return index < T::tile_n / columns ? columns : T::tile_n % columns;
  }
};

/// A thread's sums of a piece in the 16 bits of C's type, two by two.
template <class T>
using PiecePairs = std::uint32_t[Pieces<T, 2>::columns / 4];

/// They are made here, not where they are needed: the sums may change before.
template <class T>
__device__ inline void pack_piece(PiecePairs<T>& pairs, const typename T::Accumulator (&sums)[T::tile_n / 2],
                                  const Output<typename T::Accumulator>& c, int piece) {
#pragma unroll
  for (int q = 0; q < Pieces<T, 2>::width(piece) / 4; ++q) {
    const auto* const pair = &sums[piece * Pieces<T, 2>::columns / 2 + 2 * q];
    pairs[q] = c.template half_pair<typename T::Element>(pair[0], pair[1]);
    asm volatile("" : "+r"(pairs[q]));
  }
}

/// Such pairs of a whole piece into their warp's 16 rows.
template <class T>
__device__ inline void stage_pairs(const PiecePairs<T>& pairs, Staging& out, int warp, int lane) {
#pragma unroll
  for (int g = 0; g < Pieces<T, 2>::columns / 8; g += 2)
    isa::store_matrices(out.at(16 * warp + lane % 16, (8 * g + lane / 16 * 8) * 2),
                        {pairs[2 * g], pairs[2 * g + 1], pairs[2 * g + 2], pairs[2 * g + 3]});
}

/// This thread's sums of a piece, in C's type, into its warp's 16 rows.
template <class T, int bytes>
__device__ inline void stage_piece(const typename T::Accumulator (&sums)[T::tile_n / 2],
                                   const Output<typename T::Accumulator>& c, Staging& out, const FragmentCoord& at,
                                   int piece) {
  if constexpr (bytes == 2 && T::tile_n % 16 == 0) {
#pragma unroll
    for (int g = 0; g < Pieces<T, bytes>::width(piece) / 8; g += 2) {
      const int j = piece * Pieces<T, bytes>::columns / 8 + g;
      std::uint32_t pairs[4];
#pragma unroll
      for (int q = 0; q < 4; ++q)
        pairs[q] = c.template half_pair<typename T::Element>(sums[4 * j + 2 * q], sums[4 * j + 2 * q + 1]);
      isa::store_matrices(out.at(16 * at.warp + at.lane % 16, (8 * g + at.lane / 16 * 8) * bytes), pairs);
    }
  } else {
#pragma unroll
    for (int g = 0; g < Pieces<T, bytes>::width(piece) / 8; ++g) {
      const int j = piece * Pieces<T, bytes>::columns / 8 + g;
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const auto* const x = &sums[4 * j + 2 * r];
        std::byte* const place = out.at(16 * at.warp + at.lane / 4 + 8 * r, (8 * g + 2 * (at.lane % 4)) * bytes);
        if constexpr (bytes == 4) {
          *reinterpret_cast<AccumulatorPair<typename T::Accumulator>*>(place) = {x[0], x[1]};
        } else {
          *reinterpret_cast<std::uint32_t*>(place) = c.template half_pair<typename T::Element>(x[0], x[1]);
        }
      }
    }
  }
}

/// Stores by TMA, `bytes` an element: each warp its own 16 rows, so that none waits for another.
template <class T, int bytes>
__device__ inline void store_boxes(const typename T::Accumulator (&sums)[T::tile_n / 2],
                                   const Output<typename T::Accumulator>& c, const CUtensorMap* map,
                                   Staging (&staging)[2], const FragmentCoord& at) {
  using P = Pieces<T, bytes>;
#pragma unroll
  for (int piece = 0; piece < P::count; ++piece) {
    const int first_column = at.column + piece * P::columns;
    if (first_column >= c.columns) break;
    Staging& out = staging[piece % 2];
    // The tile before may have ended in either half of the staging. Only the thread that stores has what to wait for;
    // where all do, none branches.
    piece == 0 ? isa::tma_store_wait_read<0>() : isa::tma_store_wait_read<1>();
    __syncwarp();
    stage_piece<T, bytes>(sums, c, out, at, piece);
    isa::async_proxy_fence();
    __syncwarp();
    if (isa::elect_one()) {
      isa::tma_store(map, first_column, at.box_row, at.box_batch, out.at(16 * at.warp, 0));
      isa::tma_store_commit();
    }
  }
}

/// A warpgroup's 64 rows of these columns on their way out, column by column: in C's type, in boxes of 128 bytes of
/// each column.
template <class T, int bytes>
struct ColumnPieces {
  static constexpr int width = columns_of_box(T::tile_n);
  static constexpr int count = T::tile_n / width;
  static constexpr int boxes = 64 * bytes / row_bytes;  ///< one below the other
};

/// This thread's sums of a piece, transposed: a row of the staging is a column of C.
template <class T, int bytes>
__device__ inline void stage_columns(const typename T::Accumulator (&sums)[T::tile_n / 2],
                                     const Output<typename T::Accumulator>& c, Staging (&out)[2],
                                     const FragmentCoord& at, int piece) {
#pragma unroll
  for (int g = 0; g < ColumnPieces<T, bytes>::width / 8; ++g) {
    const int j = piece * ColumnPieces<T, bytes>::width / 8 + g;
    if constexpr (bytes == 2) {
      std::uint32_t pairs[2];
#pragma unroll
      for (int r = 0; r < 2; ++r)
        pairs[r] = c.template half_pair<typename T::Element>(sums[4 * j + 2 * r], sums[4 * j + 2 * r + 1]);
      std::byte* const column = out[piece % 2].at(8 * g + at.lane % 8, (16 * at.warp + at.lane / 8 % 2 * 8) * bytes);
      isa::store_matrices_transposed(column, pairs[0], pairs[1]);
    } else {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int row = 16 * (at.warp % 2) + at.lane / 4 + e / 2 * 8;
        *reinterpret_cast<typename T::Accumulator*>(
            out[at.warp / 2].at(8 * g + 2 * (at.lane % 4) + e % 2, row * bytes)) = sums[4 * j + e];
      }
    }
  }
}

/// Stores by TMA to contiguous columns, `bytes` an element.
template <class T, int bytes>
__device__ inline void store_columns(const typename T::Accumulator (&sums)[T::tile_n / 2],
                                     const Output<typename T::Accumulator>& c, const CUtensorMap* map,
                                     Staging (&staging)[2], const FragmentCoord& at, int barrier) {
  using P = ColumnPieces<T, bytes>;
  const bool is_issuer = at.warp == 0 && at.lane == 0;
#pragma unroll
  for (int piece = 0; piece < P::count; ++piece) {
    const int first_column = at.column + piece * P::width;
    if (first_column >= c.columns) break;
    if (is_issuer) piece == 0 || P::boxes == 2 ? isa::tma_store_wait_read<0>() : isa::tma_store_wait_read<1>();
    isa::named_barrier(barrier, warpgroup_threads);
    stage_columns<T, bytes>(sums, c, staging, at, piece);
    isa::async_proxy_fence();
    isa::named_barrier(barrier, warpgroup_threads);
    if (is_issuer) {
#pragma unroll
      for (int box = 0; box < P::boxes; ++box)
        isa::tma_store(map, at.row + box * (row_bytes / bytes), first_column, at.batch,
                       &staging[P::boxes == 2 ? box : piece % 2]);
      isa::tma_store_commit();
    }
  }
}

}  // namespace exactile::cuda::sm90::native
