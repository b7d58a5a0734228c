// SPDX-License-Identifier: Apache-2.0
/// \file
/// From sums in registers to C. What is stored as 16 or 32 bits is decided at run time: it is a small part of the work,
/// and each kernel then exists once for all types of C.
#pragma once

#include "cuda/isa/tma.cuh"
#include "cuda/isa/warpgroup.cuh"
#include "cuda/kernels/sm90/narrow/tile.cuh"
#include "cuda/tile/epilogue.cuh"

namespace exactile::cuda::sm90::narrow {

/// C and what is done before it is written.
template <class Sum>
struct Output {
  void* data;
  OperandLayout layout;
  int rows;
  int columns;
  ElementType type;
  bool by_tma;  ///< whole boxes may be stored: alpha * sums, rows contiguous, addresses as TMA needs them
  Sum alpha;
  Sum beta;
  bool reads_c;
  bool is_plain;
  Bias bias_kind;
  Activation activation;
  const void* bias;

  [[nodiscard]] __device__ Sum load(const void* from, std::int64_t index) const {
    if constexpr (std::is_integral_v<Sum>) {
      return static_cast<const Sum*>(from)[index];
    } else {
      if (type == ElementType::f32) return static_cast<const float*>(from)[index];
      if (type == ElementType::f16) return __half2float(static_cast<const __half*>(from)[index]);
      return __bfloat162float(static_cast<const __nv_bfloat16*>(from)[index]);
    }
  }
  __device__ void store(void* to, std::int64_t index, Sum x) const {
    if constexpr (std::is_integral_v<Sum>) {
      static_cast<Sum*>(to)[index] = x;
    } else if (type == ElementType::f32) {
      static_cast<float*>(to)[index] = x;
    } else {
      static_cast<std::uint16_t*>(to)[index] = half_bits(x);
    }
  }
  /// x in the 16 bits of C's type.
  [[nodiscard]] __device__ std::uint16_t half_bits(float x) const {
    return type == ElementType::f16 ? __half_as_ushort(__float2half_rn(x))
                                    : __bfloat16_as_ushort(__float2bfloat16_rn(x));
  }
  /// activation(alpha * sum + beta * before + bias)
  [[nodiscard]] __device__ Sum value(Sum sum, Sum before, std::int64_t i, std::int64_t j) const {
    Sum x = multiply(alpha, sum);
    if (reads_c) x = multiply_add(beta, before, x);
    if (bias_kind != Bias::none) x = add(x, load(bias, bias_kind == Bias::per_row ? i : j));
    return activate(activation, x);
  }
};

/// A warpgroup's sums: thread 32w + l holds at [4j + 2r + c] row 16w + l / 4 + 8r, column 8j + 2(l % 4) + c.
struct SumPlace {
  int row;     ///< of the warpgroup's first
  int column;  ///< of the tile's first
  int batch;
  int warp;
  int lane;
};

/// 64 rows of 128 bytes of C on their way out, swizzled as TMA expects it.
struct Staging {
  alignas(1024) std::byte data[64 * row_bytes];

  /// Of a byte within a row; what lies within 16 bytes stays together.
  [[nodiscard]] __device__ std::byte* at(int row, int byte) {
    return data + row * row_bytes + ((byte / 16 ^ row % 8) * 16) + byte % 16;
  }
};

/// Stores by TMA, `bytes` an element. `barrier`: a named barrier of the warpgroup's own.
template <class T, int bytes>
__device__ inline void store_boxes(const typename T::Sum (&sums)[T::tile_n / 2], const Output<typename T::Sum>& c,
                                   const CUtensorMap* map, Staging (&staging)[2], const SumPlace& at, int barrier) {
  constexpr int piece_columns = row_bytes / bytes;
  const bool is_issuer = at.warp == 0 && at.lane == 0;
#pragma unroll
  for (int piece = 0; piece * piece_columns < T::tile_n; ++piece) {
    const int first_column = at.column + piece * piece_columns;
    if (first_column >= c.columns) break;
    Staging& out = staging[piece % 2];
    // The tile before may have ended in either half of the staging.
    if (is_issuer) piece == 0 ? isa::tma_store_wait_read<0>() : isa::tma_store_wait_read<1>();
    isa::named_barrier(barrier, warpgroup_threads);
    constexpr int groups = piece_columns < T::tile_n ? piece_columns / 8 : T::tile_n / 8;
#pragma unroll
    for (int g = 0; g < groups; ++g) {
      const int j = piece * groups + g;
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        typename T::Sum x[2];
#pragma unroll
        for (int s = 0; s < 2; ++s) x[s] = multiply(c.alpha, sums[4 * j + 2 * r + s]);
        std::byte* const place = out.at(16 * at.warp + at.lane / 4 + 8 * r, (8 * g + 2 * (at.lane % 4)) * bytes);
        if constexpr (bytes == 4) {
          auto* const pair = reinterpret_cast<typename T::Sum*>(place);
          pair[0] = x[0];
          pair[1] = x[1];
        } else {
          *reinterpret_cast<std::uint32_t*>(place) = c.half_bits(x[0]) | static_cast<std::uint32_t>(c.half_bits(x[1]))
                                                                             << 16;
        }
      }
    }
    isa::async_proxy_fence();
    isa::named_barrier(barrier, warpgroup_threads);
    if (is_issuer) {
      isa::tma_store(map, first_column, at.row, at.batch, &out);
      isa::tma_store_commit();
    }
  }
}

/// A warp's 16 rows of `columns` columns from staging to any C, along its shorter stride.
template <class Sum, int columns>
__device__ inline void store_warp_piece(const Output<Sum>& c, Staging& staging, const SumPlace& at, int first_column) {
  const std::int64_t size = c.type == ElementType::f16 || c.type == ElementType::bf16 ? 2 : 4;
  void* const base = c.layout.pointer_array ? static_cast<void* const*>(c.data)[at.batch]
                                            : static_cast<std::byte*>(c.data) + at.batch * c.layout.batch_stride * size;
  const bool along_rows = c.layout.row_stride < c.layout.column_stride;
  for (int e = at.lane; e < 16 * columns; e += 32) {
    const int row = along_rows ? e % 16 : e / columns;
    const int column = along_rows ? e / 16 : e % columns;
    const int i = at.row + 16 * at.warp + row;
    const int j = first_column + column;
    if (i >= c.rows || j >= c.columns) continue;
    const Sum sum = *reinterpret_cast<const Sum*>(staging.at(16 * at.warp + row, column * 4));
    const std::int64_t place = i * c.layout.row_stride + j * c.layout.column_stride;
    c.store(base, place, c.is_plain ? sum : c.value(sum, c.reads_c ? c.load(base, place) : Sum{}, i, j));
  }
}

/// Stores to C of any layout.
template <class T>
__device__ inline void store_elements(const typename T::Sum (&sums)[T::tile_n / 2], const Output<typename T::Sum>& c,
                                      Staging& staging, const SumPlace& at) {
  constexpr int piece_columns = T::tile_n < 32 ? T::tile_n : 32;
#pragma unroll
  for (int piece = 0; piece < T::tile_n / piece_columns; ++piece) {
    const int first_column = at.column + piece * piece_columns;
    if (first_column >= c.columns) break;
    __syncwarp();
#pragma unroll
    for (int g = 0; g < piece_columns / 8; ++g) {
      const int j = piece * (piece_columns / 8) + g;
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        auto* const pair = reinterpret_cast<typename T::Sum*>(
            staging.at(16 * at.warp + at.lane / 4 + 8 * r, (8 * g + 2 * (at.lane % 4)) * 4));
        pair[0] = sums[4 * j + 2 * r];
        pair[1] = sums[4 * j + 2 * r + 1];
      }
    }
    __syncwarp();
    store_warp_piece<typename T::Sum, piece_columns>(c, staging, at, first_column);
  }
}

template <class T>
__device__ inline void store_tile(const typename T::Sum (&sums)[T::tile_n / 2], const Output<typename T::Sum>& c,
                                  const CUtensorMap* map, Staging (&staging)[2], const SumPlace& at, int barrier) {
  const bool is_half = c.type == ElementType::f16 || c.type == ElementType::bf16;
  if (!c.by_tma) {
    store_elements<T>(sums, c, staging[0], at);
  } else if (is_half) {
    if constexpr (!std::is_integral_v<typename T::Sum>) store_boxes<T, 2>(sums, c, map, staging, at, barrier);
  } else {
    store_boxes<T, 4>(sums, c, map, staging, at, barrier);
  }
}

}  // namespace exactile::cuda::sm90::narrow
