// SPDX-License-Identifier: Apache-2.0
/// \file
/// From sums in registers to C. What is stored as 16 or 32 bits is decided at run time: it is a small part of the work,
/// and each kernel then exists once for all types of C.
#pragma once

#include "cuda/isa/store_matrix.cuh"
#include "cuda/isa/tma.cuh"
#include "cuda/isa/warpgroup.cuh"
#include "cuda/kernels/sm90/narrow/tile.cuh"
#include "cuda/tile/epilogue.cuh"

namespace exactile::cuda::sm90::narrow {

/// How sums get to C.
enum class StoreBy : int {
  boxes,     ///< TMA: alpha * sums, rows contiguous, addresses and widths as it needs them
  columns,   ///< the same where columns are contiguous
  rows,      ///< alpha * sums, rows contiguous at any address
  elements,  ///< everything else
};

/// C and what is done before it is written.
template <class Sum>
struct Output {
  void* data;
  OperandLayout layout;
  int rows;
  int columns;
  ElementType type;
  StoreBy store_by;
  bool is_aligned;  ///< rows begin and end at multiples of 16 bytes
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
  /// Two of them, the first in the low bits. Products of bf16 are never stored as f16.
  template <class In>
  [[nodiscard]] __device__ std::uint32_t half_pair(float x, float y) const {
    union {
      __nv_bfloat162 bf16;
      __half2 f16;
      std::uint32_t bits;
    } pair;
    if (!std::is_same_v<In, __nv_bfloat16> && type == ElementType::f16) {
      pair.f16 = __floats2half2_rn(x, y);
    } else {
      pair.bf16 = __floats2bfloat162_rn(x, y);
    }
    return pair.bits;
  }
  /// activation(alpha * sum + beta * before + bias)
  [[nodiscard]] __device__ Sum value(Sum sum, Sum before, std::int64_t i, std::int64_t j) const {
    Sum x = multiply(alpha, sum);
    if (reads_c) x = multiply_add(beta, before, x);
    if (bias_kind != Bias::none) x = add(x, load(bias, bias_kind == Bias::per_row ? i : j));
    return activate(activation, x);
  }
};

/// Of a product as described; stores are element by element.
template <class Sum>
[[nodiscard]] Output<Sum> output_of(const GemmDescription& d, const GemmArguments& arguments) {
  const bool is_alone = d.bias == Bias::none && d.activation == Activation::none && arguments.beta.is_zero();
  return {.data = arguments.c,
          .layout = d.c,
          .rows = static_cast<int>(d.m),
          .columns = static_cast<int>(d.n),
          .type = d.types.output,
          .store_by = StoreBy::elements,
          .is_aligned = false,
          .alpha = arguments.alpha.as<Sum>(),
          .beta = arguments.beta.as<Sum>(),
          .reads_c = !arguments.beta.is_zero(),
          .is_plain = is_alone && arguments.alpha.as<Sum>() == Sum(1),
          .bias_kind = d.bias,
          .activation = d.activation,
          .bias = arguments.bias};
}

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

/// alpha * this thread's sums of a piece, in C's type, into its warp's 16 rows.
template <class T, int bytes>
__device__ inline void stage_piece(const typename T::Sum (&sums)[T::tile_n / 2], const Output<typename T::Sum>& c,
                                   Staging& out, const SumPlace& at, int piece) {
  if constexpr (bytes == 2 && T::tile_n % 16 == 0) {
#pragma unroll
    for (int g = 0; g < Pieces<T, bytes>::width(piece) / 8; g += 2) {
      const int j = piece * Pieces<T, bytes>::columns / 8 + g;
      std::uint32_t pairs[4];
#pragma unroll
      for (int q = 0; q < 4; ++q)
        pairs[q] = c.template half_pair<typename T::Element>(multiply(c.alpha, sums[4 * j + 2 * q]),
                                                             multiply(c.alpha, sums[4 * j + 2 * q + 1]));
      isa::store_matrices(out.at(16 * at.warp + at.lane % 16, (8 * g + at.lane / 16 * 8) * bytes), pairs);
    }
  } else {
#pragma unroll
    for (int g = 0; g < Pieces<T, bytes>::width(piece) / 8; ++g) {
      const int j = piece * Pieces<T, bytes>::columns / 8 + g;
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
          *reinterpret_cast<std::uint32_t*>(place) = c.template half_pair<typename T::Element>(x[0], x[1]);
        }
      }
    }
  }
}

/// Stores by TMA, `bytes` an element: each warp its own 16 rows, so that none waits for another.
template <class T, int bytes>
__device__ inline void store_boxes(const typename T::Sum (&sums)[T::tile_n / 2], const Output<typename T::Sum>& c,
                                   const CUtensorMap* map, Staging (&staging)[2], const SumPlace& at) {
  using P = Pieces<T, bytes>;
#pragma unroll
  for (int piece = 0; piece < P::count; ++piece) {
    const int first_column = at.column + piece * P::columns;
    if (first_column >= c.columns) break;
    Staging& out = staging[piece % 2];
    // The tile before may have ended in either half of the staging.
    if (at.lane == 0) piece == 0 ? isa::tma_store_wait_read<0>() : isa::tma_store_wait_read<1>();
    __syncwarp();
    stage_piece<T, bytes>(sums, c, out, at, piece);
    isa::async_proxy_fence();
    __syncwarp();
    if (at.lane == 0) {
      isa::tma_store(map, first_column, at.row + 16 * at.warp, at.batch, out.at(16 * at.warp, 0));
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

/// alpha * this thread's sums of a piece, transposed: a line of the staging is a column of C.
template <class T, int bytes>
__device__ inline void stage_columns(const typename T::Sum (&sums)[T::tile_n / 2], const Output<typename T::Sum>& c,
                                     Staging (&out)[2], const SumPlace& at, int piece) {
#pragma unroll
  for (int g = 0; g < ColumnPieces<T, bytes>::width / 8; ++g) {
    const int j = piece * ColumnPieces<T, bytes>::width / 8 + g;
    if constexpr (bytes == 2) {
      std::uint32_t pairs[2];
#pragma unroll
      for (int r = 0; r < 2; ++r)
        pairs[r] = c.template half_pair<typename T::Element>(multiply(c.alpha, sums[4 * j + 2 * r]),
                                                             multiply(c.alpha, sums[4 * j + 2 * r + 1]));
      std::byte* const column = out[piece % 2].at(8 * g + at.lane % 8, (16 * at.warp + at.lane / 8 % 2 * 8) * bytes);
      isa::store_matrices_transposed(column, pairs[0], pairs[1]);
    } else {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int row = 16 * (at.warp % 2) + at.lane / 4 + e / 2 * 8;
        *reinterpret_cast<typename T::Sum*>(out[at.warp / 2].at(8 * g + 2 * (at.lane % 4) + e % 2, row * bytes)) =
            multiply(c.alpha, sums[4 * j + e]);
      }
    }
  }
}

/// Stores by TMA to contiguous columns, `bytes` an element.
template <class T, int bytes>
__device__ inline void store_columns(const typename T::Sum (&sums)[T::tile_n / 2], const Output<typename T::Sum>& c,
                                     const CUtensorMap* map, Staging (&staging)[2], const SumPlace& at, int barrier) {
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

/// Where product `batch` of C begins.
template <int bytes, class Sum>
[[nodiscard]] __device__ inline std::byte* matrix_of(const Output<Sum>& c, std::int64_t batch) {
  return c.layout.pointer_array ? static_cast<std::byte* const*>(c.data)[batch]
                                : static_cast<std::byte*>(c.data) + batch * c.layout.batch_stride * bytes;
}

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

/// Stores to contiguous rows at any address, `bytes` an element.
template <class T, int bytes>
__device__ inline void store_rows(const typename T::Sum (&sums)[T::tile_n / 2], const Output<typename T::Sum>& c,
                                  Staging (&staging)[2], const SumPlace& at) {
  using P = Pieces<T, bytes>;
  const int warp_row = 16 * at.warp;
  const int rows = min(16, c.rows - (at.row + warp_row));
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
template <class Sum>
__device__ inline void store_warp_piece(const Output<Sum>& c, const Staging& staging, const SumPlace& at,
                                        int first_column, int columns) {
  const bool is_half = c.type == ElementType::f16 || c.type == ElementType::bf16;
  void* const base = is_half ? matrix_of<2>(c, at.batch) : matrix_of<4>(c, at.batch);
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
        auto* const pair = reinterpret_cast<typename T::Sum*>(
            staging.at(16 * at.warp + at.lane / 4 + 8 * r, (8 * g + 2 * (at.lane % 4)) * 4));
        pair[0] = sums[4 * j + 2 * r];
        pair[1] = sums[4 * j + 2 * r + 1];
      }
    }
    __syncwarp();
    store_warp_piece(c, staging, at, first_column, P::width(piece));
  }
}

/// Stores alpha * sums.
template <class T, int bytes>
__device__ inline void store_alone(const typename T::Sum (&sums)[T::tile_n / 2], const Output<typename T::Sum>& c,
                                   const CUtensorMap* map, Staging (&staging)[2], const SumPlace& at, int barrier) {
  if (c.store_by == StoreBy::columns) return store_columns<T, bytes>(sums, c, map, staging, at, barrier);
  if constexpr (Pieces<T, bytes>::fill_boxes)
    if (c.store_by == StoreBy::boxes) return store_boxes<T, bytes>(sums, c, map, staging, at);
  store_rows<T, bytes>(sums, c, staging, at);
}

template <class T>
__device__ inline void store_tile(const typename T::Sum (&sums)[T::tile_n / 2], const Output<typename T::Sum>& c,
                                  const CUtensorMap* map, Staging (&staging)[2], const SumPlace& at, int barrier) {
  const bool is_half = c.type == ElementType::f16 || c.type == ElementType::bf16;
  if (c.store_by == StoreBy::elements) {
    store_elements<T>(sums, c, staging[0], at);
  } else if (is_half) {
    if constexpr (!std::is_integral_v<typename T::Sum>) store_alone<T, 2>(sums, c, map, staging, at, barrier);
  } else {
    store_alone<T, 4>(sums, c, map, staging, at, barrier);
  }
}

}  // namespace exactile::cuda::sm90::narrow
