// SPDX-License-Identifier: Apache-2.0
/// \file
/// The contract between the cache loops and the micro-kernels, free of any instruction set.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "cpu/micro/elements.hpp"

namespace exactile::cpu {

/// One tile of C: `rows` x (vectors * lanes) elements, updated with k rank-1 terms.
///
///     C[i][j] <- alpha * sum_p A[i][p] * B[p][j] + beta * C[i][j]     (beta = 0 does not read C)
///
/// The sum starts at zero and runs over p = 0, 1, ..., k-1 with one fused multiply-add each; the update is one more
/// fused multiply-add. Every micro-kernel of every instruction set does exactly that, which is why the bits of a result
/// do not depend on which of them ran.
///
/// Terms of a kind that groups them are groups here. A complex sum is the definition's two real ones for each part:
/// with A's real parts, and with its imaginary parts. They meet before alpha and beta, and there conjugates cost
/// nothing.
///
/// What a plan knows of its tiles. What each call brings goes beside it, in registers: a small product is over before
/// an address that was written to memory could be read back.
struct TileShape {
  std::int64_t a_stride;  ///< row order: from row to row (terms are neighbours); column order: from term to term
  std::int64_t b_stride;  ///< from row to row, as in C; columns are neighbours
  std::int64_t c_stride;
  std::int64_t k;
  std::int64_t last_lanes;  ///< valid lanes of the last vector; masked kernels touch no other
  bool conjugates_a = false;
  bool conjugates_b = false;
  std::int32_t least_of_a = 0;  ///< of rows in place, see MicroKernels::least_of_a
};

enum class AOrder : std::uint8_t { rows, columns };

/// What a kernel asks for between its multiply-adds, a line of each row at a time, so that what they wait for is never
/// behind a queue of requests.
template <class Sum>
struct Ahead {
  const void* a;          ///< of a tile that comes soon: as many bytes of each of `a_rows` rows as shape.k lanes have
  std::int64_t a_stride;  ///< in bytes
  int a_rows;
  const Sum* lines;  ///< rows of the tile's width: its own of C, or some of B
  std::int64_t line_stride;
  int line_rows;
  bool lines_are_far = false;  ///< in memory, and must be asked for before the next tile of A
};

/// An A that comes from memory is read along so many rows at once: as many as prefetchers follow.
inline constexpr int streamed_rows = 8;

/// Panels of B from the one that a packing kernel reads to the one that it asks for.
inline constexpr int packing_ahead = 2;

/// The micro-kernels of one instruction set and kind, and the register blocks they are best called with. Those that
/// read operands where they lie are null for kinds whose operands are always packed (see reads_operands).
template <class K>
struct MicroKernels {
  using Lane = cpu::Lane<K>;
  using Sum = cpu::Sum<K>;
  using Kernel = void (*)(const TileShape& shape, const Lane* a, const Lane* b, Sum* c, Sum alpha, Sum beta);
  using PackingKernel = void (*)(const TileShape& shape, const Lane* a, const Lane* b, Sum* c, Sum alpha, Sum beta,
                                 Lane* packed_b);
  using AskingKernel = void (*)(const TileShape& shape, const Lane* a, const Lane* b, Sum* c, Sum alpha, Sum beta,
                                const Ahead<Sum>& ahead);
  /// Copies lanes into micro-panels; see highway_pack.hpp.
  using Pack = void (*)(const Input<K>* from, std::int64_t lane_stride, std::int64_t term_stride, std::int64_t lanes,
                        std::int64_t width, std::int64_t terms, Lane* panels);
  /// rows x vectors; masked: the last vector is partial.
  Kernel (*tile)(AOrder order, int rows, int vectors, bool masked);
  /// One vector wide, A by rows, computed a row after the other (highway_rows.hpp); null where the instruction set has
  /// no such kernels.
  Kernel (*row_tile)(int rows, bool masked) = nullptr;
  /// Whole vectors, whose rows of B are copied to packed_b on the way, unless that is null, one after the other, while
  /// those of the panels that come are asked for: two vectors, or, with A by columns, three. Of no tile that is short.
  PackingKernel (*packing_tile)(AOrder order, int rows, int vectors) = nullptr;
  /// Whole vectors, and asks for what comes next on the way: two vectors, most_vectors, or, with A by columns,
  /// three. Of no tile that is short.
  AskingKernel (*asking_tile)(AOrder order, int rows, int vectors);
  /// As asking_tile, one vector wide, which may be partial; A by rows, rows <= streamed_rows.
  AskingKernel (*asking_column)(int rows, bool masked) = nullptr;
  /// Few rows against a B too large for the caches; see highway_stream.hpp. `a` by rows, rows <= stream_rows.
  Kernel (*stream)(int rows) = nullptr;
  /// c[j] <- alpha * sums[j] + beta * c[j] for j < columns, as a tile's update does it.
  void (*add_sums)(const Sum* sums, Sum* c, std::int64_t columns, Sum alpha, Sum beta) = nullptr;
  Pack pack_a;
  Pack pack_b;
  /// A row of A whose terms are neighbours, as lanes one behind the other, for which there must be room in whole lines;
  /// null where it is read as it is.
  void (*copy_a)(const Input<K>* from, std::int64_t terms, Lane* to) = nullptr;
  /// The smallest exponent, as it is stored, of rows of A whose terms are neighbours; null where no micro-kernel asks.
  std::int32_t (*least_of_a)(const Input<K>* from, std::int64_t rows, std::int64_t stride,
                             std::int64_t terms) = nullptr;
  int lanes;         ///< columns of a vector
  int vectors;       ///< vectors of a full tile: NR = vectors * lanes
  int rows;          ///< rows of a full tile: MR
  int most_vectors;  ///< of a tile at all
  /// Rows of a tile of so many vectors: what the registers hold.
  [[nodiscard]] int rows_of(int tile_vectors) const { return std::min(sums / tile_vectors, tallest); }
  /// Less than half of those: rows are dealt out evenly, so that only a lonely tile is short.
  [[nodiscard]] bool is_short(int tile_rows, int tile_vectors) const { return 2 * tile_rows < rows_of(tile_vectors); }
  int sums;                                       ///< vectors of sums that registers hold
  int tallest = std::numeric_limits<int>::max();  ///< rows of a tile at all
  int stream_rows = 0;
  int instructions;  ///< for the multiply-adds of one vector and one lane of A
  /// Multiply-adds on registers only, for measuring the peak; returns the operations done.
  double (*peak_loop)(std::int64_t rounds) = nullptr;
};

const MicroKernels<float>& avx512_f32();
const MicroKernels<double>& avx512_f64();
const MicroKernels<std::complex<float>>& avx512_cf32();
const MicroKernels<std::complex<double>>& avx512_cf64();
const MicroKernels<std::int32_t>& avx512_i32();
const MicroKernels<std::int64_t>& avx512_i64();
const MicroKernels<float>& avx2_f32();
const MicroKernels<double>& avx2_f64();
const MicroKernels<std::complex<float>>& avx2_cf32();
const MicroKernels<std::complex<double>>& avx2_cf64();
const MicroKernels<std::int32_t>& avx2_i32();
const MicroKernels<std::int64_t>& avx2_i64();
const MicroKernels<Widened<BFloat16>>& avx512_bf16();
const MicroKernels<Widened<Float16>>& avx512_f16();
const MicroKernels<Widened<Float8E4M3>>& avx512_f8e4m3();
const MicroKernels<Widened<Float8E5M2>>& avx512_f8e5m2();
/// Of A and B of bytes, i8 or u8 each.
const MicroKernels<I8Pairs>& avx512_bytes(ElementType a, ElementType b);
const MicroKernels<I16Pairs>& avx512_i16();
const MicroKernels<I32Wide>& avx512_i32_wide();
const MicroKernels<Bf16Pairs>& avx512_bf16_pairs();
const MicroKernels<I8Quads>& avx512_vnni_bytes(ElementType a, ElementType b);
const MicroKernels<I16Pairs>& avx512_vnni_i16();
const MicroKernels<Widened<BFloat16>>& avx2_bf16();
const MicroKernels<Widened<Float16>>& avx2_f16();
const MicroKernels<Widened<Float8E4M3>>& avx2_f8e4m3();
const MicroKernels<Widened<Float8E5M2>>& avx2_f8e5m2();
const MicroKernels<I8Pairs>& avx2_bytes(ElementType a, ElementType b);
const MicroKernels<I16Pairs>& avx2_i16();
const MicroKernels<I32Wide>& avx2_i32_wide();
const MicroKernels<float>& neon_f32();
const MicroKernels<double>& neon_f64();
const MicroKernels<std::complex<float>>& neon_cf32();
const MicroKernels<std::complex<double>>& neon_cf64();
const MicroKernels<std::int32_t>& neon_i32();
const MicroKernels<std::int64_t>& neon_i64();
const MicroKernels<Widened<BFloat16>>& neon_bf16();
const MicroKernels<Widened<Float16>>& neon_f16();
const MicroKernels<Widened<Float8E4M3>>& neon_f8e4m3();
const MicroKernels<Widened<Float8E5M2>>& neon_f8e5m2();
const MicroKernels<I8Pairs>& neon_bytes(ElementType a, ElementType b);
const MicroKernels<I16Pairs>& neon_i16();
const MicroKernels<I32Wide>& neon_i32_wide();

inline constexpr std::uint32_t no_magnitude = 0x8000;
/// The smallest magnitude other than zero of some lines of `length` neighbours, in its bits; no_magnitude of none.
std::uint32_t avx512_smallest_magnitude(const BFloat16* numbers, std::int64_t lines, std::int64_t line_stride,
                                        std::int64_t length);

}  // namespace exactile::cpu
