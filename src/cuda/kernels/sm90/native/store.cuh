// SPDX-License-Identifier: Apache-2.0
/// \file
/// From sums in registers to C, by TMA or otherwise.
#pragma once

#include "cuda/kernels/sm90/native/store_boxes.cuh"
#include "cuda/kernels/sm90/native/store_late.cuh"
#include "cuda/kernels/sm90/native/store_shifted.cuh"

namespace exactile::cuda::sm90::native {

/// One row of a piece from staging to `to`, by a warp: 16-bit elements in pairs where pairs are aligned.
template <int bytes>
__device__ inline void store_row(std::byte* to, const Staging& staging, int row, int columns, int lane) {
  if constexpr (bytes == 4) {
    if (lane < columns)
      reinterpret_cast<std::uint32_t*>(to)[lane] = *reinterpret_cast<const std::uint32_t*>(staging.at(row, lane * 4));
  } else {
    const auto element = [&](int j) { return *reinterpret_cast<const std::uint16_t*>(staging.at(row, j * 2)); };
    auto* const elements = reinterpret_cast<std::uint16_t*>(to);
    const int odd = reinterpret_cast<std::uintptr_t>(to) % 4 != 0 ? 1 : 0;
    const int j = 2 * lane + odd;
    if (j + 1 < columns) {
      *reinterpret_cast<std::uint32_t*>(elements + j) = element(j) | static_cast<std::uint32_t>(element(j + 1)) << 16;
    } else if (j < columns) {
      elements[j] = element(j);
    }
    if (odd != 0 && lane == 0) elements[0] = element(0);
  }
}

/// Stores to contiguous rows at any address, `bytes` an element, of tiles whose rows fill no boxes.
template <class T, int bytes>
__device__ inline void store_rows(const typename T::Accumulator (&sums)[T::tile_n / 2],
                                  const Output<typename T::Accumulator>& c, Staging (&staging)[2],
                                  const FragmentCoord& at) {
  using P = Pieces<T, bytes>;
  const int warp_row = 16 * at.warp;
  const int rows = min(16, at.row_end - (at.row + warp_row));
  const std::int64_t pitch = c.layout.row_stride * bytes;
  std::byte* const first_row =
      matrix_of<bytes>(c, at.batch) + (at.row + warp_row) * pitch + static_cast<std::int64_t>(at.column) * bytes;
#pragma unroll
  for (int piece = 0; piece < P::count; ++piece) {
    const int columns = min(P::width(piece), c.columns - (at.column + piece * P::columns));
    if (columns <= 0) break;
    // Two pieces on, all lanes have passed the barrier behind their reads of this one.
    Staging& out = staging[piece % 2];
    if (piece < 2) __syncwarp();
    stage_piece<T, bytes>(sums, c, out, at, piece);
    __syncwarp();
    std::byte* const to = first_row + piece * row_bytes;
    if (c.is_aligned) {
      constexpr int words = P::width(0) * bytes / 16;  // of 16 bytes in a row
      for (int word = at.lane; word < rows * words; word += 32) {
        const int row = word / words, byte = word % words * 16;
        if (byte < columns * bytes)
          *reinterpret_cast<uint4*>(to + row * pitch + byte) =
              *reinterpret_cast<const uint4*>(out.at(warp_row + row, byte));
      }
    } else {
#pragma unroll 4
      for (int row = 0; row < rows; ++row) store_row<bytes>(to + row * pitch, out, warp_row + row, columns, at.lane);
    }
  }
}

/// A warp's 16 rows of `columns` columns from staging to any C, along its shorter stride.
template <class Accumulator>
__device__ inline void store_warp_piece(const Output<Accumulator>& c, const Staging& staging, const FragmentCoord& at,
                                        int first_column, int columns) {
  const bool is_half = c.type == ElementType::f16 || c.type == ElementType::bf16;
  void* const base = is_half ? matrix_of<2>(c, at.batch) : matrix_of<4>(c, at.batch);
  const bool along_rows = c.layout.row_stride < c.layout.column_stride;
  for (int e = at.lane; e < 16 * columns; e += 32) {
    const int row = along_rows ? e % 16 : e / columns;
    const int column = along_rows ? e / 16 : e % columns;
    const int i = at.row + 16 * at.warp + row;
    const int j = first_column + column;
    if (i >= at.row_end || j >= c.columns) continue;
    const Accumulator sum = *reinterpret_cast<const Accumulator*>(staging.at(16 * at.warp + row, column * 4));
    const std::int64_t place = i * c.layout.row_stride + j * c.layout.column_stride;
    c.store(base, place, c.is_plain ? sum : c.value(sum, c.reads_c ? c.load(base, place) : Accumulator{}, i, j));
  }
}

/// Stores to C of any layout.
template <class T>
__device__ inline void store_elements(const typename T::Accumulator (&sums)[T::tile_n / 2],
                                      const Output<typename T::Accumulator>& c, Staging& staging,
                                      const FragmentCoord& at) {
  using P = Pieces<T, 4>;
#pragma unroll
  for (int piece = 0; piece < P::count; ++piece) {
    const int first_column = at.column + piece * P::columns;
    if (first_column >= c.columns) break;
    __syncwarp();
#pragma unroll
    for (int g = 0; g < P::width(piece) / 8; ++g) {
      const int j = piece * P::columns / 8 + g;
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        std::byte* const place = staging.at(16 * at.warp + at.lane / 4 + 8 * r, (8 * g + 2 * (at.lane % 4)) * 4);
        *reinterpret_cast<AccumulatorPair<typename T::Accumulator>*>(place) = {sums[4 * j + 2 * r],
                                                                               sums[4 * j + 2 * r + 1]};
      }
    }
    __syncwarp();
    store_warp_piece(c, staging, at, first_column, P::width(piece));
  }
}

/// Stores sums as they are, or begins to.
template <class T, int bytes, class Late>
__device__ inline void store_alone(const typename T::Accumulator (&sums)[T::tile_n / 2],
                                   const Output<typename T::Accumulator>& c, const CUtensorMap* map,
                                   Staging (&staging)[2], Late& late, const FragmentCoord& at, int barrier) {
  if (c.store_by == StoreBy::columns) return store_columns<T, bytes>(sums, c, map, staging, at, barrier);
  if constexpr (Pieces<T, bytes>::fill_boxes) {
    if (c.store_by == StoreBy::boxes) {
      if constexpr (bytes == 2 && Late::is_late) {
        late.begin(sums, c, staging, at);
      } else {
        store_boxes<T, bytes>(sums, c, map, staging, at);
      }
      return;
    }
    store_shifted_rows<T, bytes, shifted_width(T::tile_n * bytes)>(sums, c, staging, at);
  } else {
    store_rows<T, bytes>(sums, c, staging, at);
  }
}

/// As Output::scaled(), where a missing scale is 1.
template <class T>
__device__ inline void scale_sums(float (&sums)[T::tile_n / 2], const Output<float>& c, const FragmentCoord& at) {
  const auto factor = [](const float* scales, int index, int count) {
    return scales != nullptr && index < count ? scales[index] : 1.0f;
  };
  const int row = at.row + 16 * at.warp + at.lane / 4;
  const float* const column_scales =
      c.column_scales == nullptr ? nullptr : c.column_scales + static_cast<std::int64_t>(at.group) * c.columns;
  const float of_rows[2] = {factor(c.row_scales, row, at.row_end), factor(c.row_scales, row + 8, at.row_end)};
#pragma unroll
  for (int j = 0; j < T::tile_n / 8; ++j) {
    const int column = at.column + 8 * j + 2 * (at.lane % 4);
    const float of_columns[2] = {factor(column_scales, column, c.columns),
                                 factor(column_scales, column + 1, c.columns)};
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const float of_row = of_rows[e / 2];
      const float of_column = of_columns[e % 2];
      sums[4 * j + e] = sums[4 * j + e] * (c.is_transposed ? of_column : of_row);
      sums[4 * j + e] = sums[4 * j + e] * (c.is_transposed ? of_row : of_column);
    }
  }
}

/// alpha * sums, where that is not the same.
template <class T>
__device__ inline void multiply_sums(typename T::Accumulator (&sums)[T::tile_n / 2], typename T::Accumulator alpha) {
  if (alpha == typename T::Accumulator(1)) return;
#pragma unroll
  for (int i = 0; i < T::tile_n / 2; ++i) sums[i] = multiply(alpha, sums[i]);
}

/// `late`: what is left to be stored afterwards.
template <class T, class Late>
__device__ inline void store_tile(typename T::Accumulator (&sums)[T::tile_n / 2],
                                  const Output<typename T::Accumulator>& c, const CUtensorMap* map,
                                  Staging (&staging)[2], Late& late, const FragmentCoord& at, int barrier) {
  if constexpr (!std::is_integral_v<typename T::Accumulator>)
    if (c.has_scales()) scale_sums<T>(sums, c, at);
  const bool is_half = c.type == ElementType::f16 || c.type == ElementType::bf16;
  if (c.store_by == StoreBy::elements) {
    store_elements<T>(sums, c, staging[0], at);
    return;
  }
  multiply_sums<T>(sums, c.alpha);
  if (is_half) {
    if constexpr (!std::is_integral_v<typename T::Accumulator>)
      store_alone<T, 2>(sums, c, map, staging, late, at, barrier);
  } else {
    store_alone<T, 4>(sums, c, map, staging, late, at, barrier);
  }
}

}  // namespace exactile::cuda::sm90::native
