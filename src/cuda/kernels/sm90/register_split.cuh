// SPDX-License-Identifier: Apache-2.0
/// \file
/// One operand split on its way to the tensor cores: f32 from shared memory, f16 slices in registers. Every row has a
/// scale for each chunk of 64 of K, so nothing of the operand has to be known beforehand.
#pragma once

#include "cuda/isa/wgmma_tile.cuh"
#include "cuda/kernels/sm90/epilogue.cuh"

namespace exactile::cuda::sm90 {

inline constexpr int chunk_k = block_k * Fp16x3::chunk_stages;
inline constexpr int chunk_steps = chunk_k / 16;  // of K, by one instruction each

/// Of a chunk's steps the tensor cores sum so many before f32 takes over, or all. What they cut off is always of one
/// sign.
inline constexpr int fragment_steps = chunk_steps / 2;

/// The slices where this is so; see docs/accuracy-proofs.md.
struct Fp16x3InHalves : Fp16x3 {
  [[nodiscard]] static constexpr int roundings(int k) { return 32 + k / 32; }
};

/// How 128 rows x 64 of K in f32 lie in shared memory: K-major or MN-major. A row of the tile in memory runs along K or
/// across it.
///
/// As a rule such rows have 32 elements and are swizzled as TMA does it: 16 bytes at c ^ row % 8 instead of c. Along K:
/// [k / 32][row][k % 32]. Across K: [row / 32][k][row % 32].
///
/// Misaligned: where rows of the operand do not all begin at multiples of 16 bytes every fourth one does, but for a
/// shift. A row is whole, 4 elements longer than it need be, and begins with elements before its own: [row % 4][row /
/// 4][element].
struct F32TileLayout {
  bool k_major;
  bool misaligned;
  int shift[4];  ///< of misaligned rows, in elements

  static constexpr int swizzled_bytes = tile_m * chunk_k * 4;
  static constexpr int misaligned_bytes = tile_m * (chunk_k + 4) * 4;  // along K; fewer across

  [[nodiscard]] __device__ int count() const { return k_major ? tile_m : chunk_k; }
  /// From row to row where misaligned, in elements.
  [[nodiscard]] __device__ int pitch() const { return (k_major ? chunk_k : tile_m) + 4; }
  /// In bytes, where they are swizzled.
  [[nodiscard]] __device__ static int swizzled(bool k_major, int row, int k) {
    const int line = k_major ? k / 32 * tile_m + row : row / 32 * chunk_k + k;
    const int place = k_major ? k % 32 : row % 32;
    return line * 128 + (place / 4 ^ line % 8) * 16 + place % 4 * 4;
  }
};

/// A thread's elements of a chunk: [step][2 * half + r][which of two], as WgmmaRegisters has them. Which row of the
/// tile is which of wgmma's is free: here its rows l / 4 and l / 4 + 8 of a warp's sixteen are 2(l / 4) and 2(l / 4)
/// + 1.
using ChunkElements = float[chunk_steps][4][2];

/// A thread's two rows of a tile. They are neighbours in memory or lie in neighbouring rows of it: then eight bytes at
/// a time are read from all banks, whichever the major.
struct ElementRows {
  int line;  ///< or place
  int first;
  int step;  ///< from the first to the second

  /// Of tiles that are not misaligned.
  __device__ ElementRows() : ElementRows(F32TileLayout{}) {}
  __device__ explicit ElementRows(const F32TileLayout& tile_layout, int thread = static_cast<int>(threadIdx.x))
      : line(thread / 32 * 16 + thread % 32 / 4 * 2) {
    constexpr int quarter = tile_m / 4;
    const bool are_rows_misaligned = tile_layout.misaligned && tile_layout.k_major;
    first = are_rows_misaligned ? line % quarter * 4 + line / quarter : line;
    step = are_rows_misaligned ? 4 : 1;
  }
};

/// Where a thread's elements are in every tile.
struct ElementPlaces {
  bool k_major;
  bool misaligned;
  int offset[2];  ///< misaligned: of the two elements of a pair; otherwise of both

  __device__ explicit ElementPlaces(const F32TileLayout& tile_layout, int thread = static_cast<int>(threadIdx.x))
      : k_major(tile_layout.k_major), misaligned(tile_layout.misaligned) {
    const int line = ElementRows(tile_layout, thread).line;
    const int first_k = thread % 4 * 2;
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const int k = first_k + e;
      const int elements =
          k_major ? line * tile_layout.pitch() + k + tile_layout.shift[line / (tile_m / 4)]
                  : (k % 4 * (chunk_k / 4) + k / 4) * tile_layout.pitch() + line + tile_layout.shift[k % 4];
      offset[e] = misaligned ? elements * 4 : F32TileLayout::swizzled(k_major, line, first_k);
    }
  }

  /// Two elements, `line` swizzled rows and, by exclusive or, `pieces` of 16 bytes further on.
  [[nodiscard]] __device__ float2 pair(const std::byte* tile, int line, int pieces) const {
    return *reinterpret_cast<const float2*>(tile + (offset[0] ^ pieces * 16) + line * 128);
  }
  /// Element e of a pair, so many elements further on.
  [[nodiscard]] __device__ float element(const std::byte* tile, int e, int further) const {
    return *reinterpret_cast<const float*>(tile + offset[e] + further * 4);
  }
};

__device__ inline void load_elements(ChunkElements& x, const std::byte* tile, const ElementPlaces& places) {
  if (places.misaligned) {
#pragma unroll
    for (int i = 0; i < chunk_steps * 8; ++i) {
      const int k = i / 4 * 8;
      const int r = i / 2 % 2;
      const int further = places.k_major ? r * (chunk_k + 4) + k : k / 4 * (tile_m + 4) + r;
      x[k / 16][k / 8 % 2 * 2 + r][i % 2] = places.element(tile, i % 2, further);
    }
  } else if (places.k_major) {
#pragma unroll
    for (int i = 0; i < chunk_steps * 4; ++i) {
      const int k = i / 2 * 8;
      const int r = i % 2;
      const float2 pair = places.pair(tile, k / 32 * tile_m + r, k % 32 / 4 ^ r);
      x[k / 16][k / 8 % 2 * 2 + r][0] = pair.x;
      x[k / 16][k / 8 % 2 * 2 + r][1] = pair.y;
    }
  } else {
#pragma unroll
    for (int i = 0; i < chunk_steps * 4; ++i) {
      const int k = i / 2 * 8;
      const int e = i % 2;
      const float2 pair = places.pair(tile, k + e, e);
      x[k / 16][k / 8 % 2 * 2][e] = pair.x;
      x[k / 16][k / 8 % 2 * 2 + 1][e] = pair.y;
    }
  }
}

/// 2^e, or 2^-126 where it would be less.
[[nodiscard]] __device__ inline float power_not_zero(int e) { return power_of_two(max(e, -126)); }

/// Above this, binary orders of magnitude between the chunks of a row count as a tiny element: products of the smaller
/// ones might underflow in the sums. As much again is allowed between K slices, of a row and of a column, and 2^-24 *
/// 2^-24 * 2^-78 is still an ordinary number.
inline constexpr int most_spread = 26;
inline constexpr float most_shrink = 0x1p-26f;

/// What is known of a row of which a K slice has been read so far. The same in the four threads that share the row, but
/// for `underflows`.
struct RowState {
  int scale = 126;        ///< sums are in units of 2^-scale: that of the largest element so far, or more (headroom)
  int most_scale = -127;  ///< of a chunk that is not zero
  float underflows = 0;   ///< tiny elements, each by the size of its chunk; infinite where the slices would be wrong

  [[nodiscard]] __device__ bool is_zero() const { return most_scale == -127; }
  /// The scale word that has this scale and these tiny elements, as the split ahead would have found them.
  [[nodiscard]] __device__ unsigned max_bits() const {
    return is_zero() ? 0 : static_cast<unsigned>(Fp16x3::limit_exponent + 126 - scale) << 23;
  }
  /// What chunks that lie further apart than `spread` count as.
  [[nodiscard]] __device__ float spread_weight(int spread) const {
    return !is_zero() && most_scale - scale > spread ? 1.0f : 0.0f;
  }
  /// By the four threads.
  [[nodiscard]] __device__ unsigned underflow_count(int spread) const {
    float all = underflows + __shfl_xor_sync(~0u, underflows, 1);
    all += __shfl_xor_sync(~0u, all, 2);
    return __float2uint_ru(all + spread_weight(spread));  // Inf becomes lost_scale
  }
};

/// Slices of two rows, 64 of K of each.
using SliceRegisters = isa::WgmmaRegisters[Fp16x3::slices][chunk_steps];

/// Slices of a chunk for this thread. Of two rows, what the chunk was multiplied by, by what the sums so far must be
/// multiplied before the chunk's are added, and by what the chunk's.
struct ChunkSlices {
  SliceRegisters slice;
  float scale[2];
  float shrink[2];
  float factor[2];
  __half2 least;  ///< the least first slice of an even and of an odd place, or least_ordinary
};

/// Elements of row r whose first slices are not zero, but so small that slices do not hold them.
[[nodiscard]] __device__ inline float underflows_in_row(const SliceRegisters& slices, int r) {
  const __half2 least = __float2half2_rn(Fp16x3::least_ordinary);
  const __half2 zero = __float2half2_rn(0);
  __half2 count = zero;
#pragma unroll
  for (int i = 0; i < chunk_steps * 2; ++i) {
    const __half2 first = __habs2(reinterpret_cast<const __half2&>(slices[0][i / 2][i % 2 * 2 + r]));
    count = __hfma2(__hlt2(first, least), __hgt2(first, zero), count);
  }
  return __low2float(count) + __high2float(count);
}

/// Gives elements of row r whose first slices are zero, though they are not, slices that cancel: 2^-24 and -2^-24 of
/// their sign. So Inf times them is Inf, and they err as other tiny elements do. How many there are.
[[nodiscard]] __device__ inline float mend_lost(SliceRegisters& slices, const ChunkElements& x, int r) {
  unsigned count = 0;
#pragma unroll
  for (int i = 0; i < chunk_steps * 4; ++i) {
    const int place = i / 2 % 2 * 2 + r;
    const int shift = i % 2 * 16;
    const unsigned bits = __float_as_uint(x[i / 4][place][i % 2]);
    unsigned& high = slices[0][i / 4][place];
    unsigned& low = slices[1][i / 4][place];
    if ((high >> shift & 0x7fffu) != 0 || bits << 1 == 0) continue;
    const unsigned least = bits >> 16 & 0x8000u | 1u;
    high = high & ~(0xffffu << shift) | least << shift;
    low = low & ~(0xffffu << shift) | (least ^ 0x8000u) << shift;
    ++count;
  }
  return static_cast<float>(count);
}

/// By the four threads that share two rows. Where the largest element so far grows, the sums' units grow by 2^headroom
/// more, so that this is seldom.
__device__ inline void split_chunk(ChunkSlices& to, const ChunkElements& x, RowState (&rows)[2], int headroom) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float most = 0;
#pragma unroll
    for (int i = 0; i < chunk_steps * 4; ++i) most = fmaxf(most, fabsf(x[i / 4][i / 2 % 2 * 2 + r][i % 2]));
    most = fmaxf(most, __shfl_xor_sync(~0u, most, 1));
    most = fmaxf(most, __shfl_xor_sync(~0u, most, 2));
    const int exponent = scale_exponent<Fp16x3>(__float_as_uint(most));
    to.scale[r] = power_of_two(exponent);
    const int scale = exponent < rows[r].scale ? exponent - headroom : rows[r].scale;
    to.shrink[r] = power_not_zero(scale - rows[r].scale);
    rows[r].scale = scale;
    rows[r].underflows *= to.shrink[r];
    if (most != 0) rows[r].most_scale = max(rows[r].most_scale, exponent);
    to.factor[r] = power_not_zero(rows[r].scale - exponent);
    if (most == __builtin_inff()) rows[r].underflows = most;
  }
  to.least = __float2half2_rn(Fp16x3::least_ordinary);
#pragma unroll
  for (int i = 0; i < chunk_steps * 4; ++i) {
    __half2 s[Fp16x3::slices];
    Fp16x3::split_ordinary(x[i / 4][i % 4][0] * to.scale[i % 2], x[i / 4][i % 4][1] * to.scale[i % 2], s);
    to.least = __hmin2(to.least, __habs2(s[0]));
#pragma unroll
    for (int slice = 0; slice < Fp16x3::slices; ++slice)
      to.slice[slice][i / 4][i % 4] = reinterpret_cast<const unsigned&>(s[slice]);
  }
}

/// By the same: takes a chunk from shared memory, splits it and counts what is tiny.
__device__ inline void split_tile(ChunkSlices& to, const std::byte* tile, const ElementPlaces& places,
                                  RowState (&rows)[2], int headroom = 0) {
  ChunkElements x;
  load_elements(x, tile, places);
  split_chunk(to, x, rows, headroom);
  if (__all_sync(~0u, __hbge2(to.least, __float2half2_rn(Fp16x3::least_ordinary)))) return;
#pragma unroll
  for (int r = 0; r < 2; ++r) rows[r].underflows += underflows_in_row(to.slice, r) * to.factor[r];
  if (__all_sync(~0u, __hbgt2(to.least, __float2half2_rn(0)))) return;
  load_elements(x, tile, places);
#pragma unroll
  for (int r = 0; r < 2; ++r) rows[r].underflows += mend_lost(to.slice, x, r) * to.factor[r];
}

/// What is known of a thread's two rows after a K slice, for splitk_reduce().
__device__ inline void store_scales(const SplitOperand& operand, int k_slice, int batch, const RowState (&rows)[2],
                                    int row, int next_row, int spread) {
  const std::int64_t first =
      (std::int64_t{k_slice} * operand.batches + (operand.batches == 1 ? 0 : batch)) * operand.scales_pitch;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const unsigned underflows = rows[r].underflow_count(spread);
    const int i = row + r * next_row;
    if (i >= operand.rows || threadIdx.x % 4 != 0) continue;
    operand.scales.max_bits[first + i] = rows[r].max_bits();
    operand.scales.underflows[first + i] = underflows;
  }
}

}  // namespace exactile::cuda::sm90
