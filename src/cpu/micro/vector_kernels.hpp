// SPDX-License-Identifier: Apache-2.0
/// \file
/// The contract between products with few rows or columns and their micro-kernels, free of any instruction set.
///
/// A matrix W meets up to `most_vectors` vectors x. Its lines are what lies contiguously. Where a line is one sum's
/// terms (sums along lines) each sum is kept in many lanes; where a line holds one term of many sums (sums across
/// lines) each lane is a sum.
#pragma once

#include <complex>
#include <cstdint>
#include <type_traits>

#include "core/arithmetic.hpp"
#include "exactile/types.hpp"

namespace exactile {

namespace cpu {
/// An i32 whose products are summed in 64 bits.
enum class WideInt32 : std::int32_t {};
}  // namespace cpu

namespace detail {
template <>
struct AccumulatorOf<cpu::WideInt32, cpu::WideInt32> : std::type_identity<std::int64_t> {};
template <>
struct ElementTypeOf<cpu::WideInt32> : std::integral_constant<ElementType, ElementType::i32> {};
}  // namespace detail

}  // namespace exactile

namespace exactile::cpu {

inline constexpr int most_vectors_at_once = 8;

/// Terms of one sum in lanes before it is folded: the next block begins with sums of zero.
inline constexpr std::int64_t lane_block_terms = 8192;

namespace detail {
template <class T>
struct RealOf {
  using type = T;
};
template <class T>
struct RealOf<std::complex<T>> {
  using type = T;
};
}  // namespace detail

/// What a lane of a vector sums.
template <class In>
using LaneOf = typename detail::RealOf<Accumulator<In>>::type;

/// Terms that one sum across lines takes in order before it is added to those before: the chunks of the other kernels,
/// whose bits these sums have too.
template <class In>
inline constexpr std::int64_t line_chunk_terms = 2048 / static_cast<std::int64_t>(sizeof(LaneOf<In>));

/// Lanes of type LaneOf<In> that a vector x takes in the form that kernels read, a term: a complex number is there with
/// both parts twice.
template <class In>
inline constexpr std::int64_t held_lanes = core::is_complex_v<In> ? 4 : 1;

/// Columns whose sums across lines stay in L1 with so many vectors.
template <class In>
[[nodiscard]] constexpr std::int64_t across_columns(int vectors) {
  constexpr std::int64_t bytes = 16384;
  return bytes / vectors / static_cast<std::int64_t>(sizeof(Accumulator<In>)) / 64 * 64;
}

/// A whole number of every kernel's vectors: the held form is padded with zeros up to this many terms.
inline constexpr std::int64_t held_padding = 64;

/// Vectors as kernels read them. Vector i begins at held + i * held_stride; its last terms, those from the last
/// multiple of held_padding on, at end + i * end_stride, followed by zeros.
template <class In>
struct HeldVectors {
  const LaneOf<In>* held;
  std::int64_t held_stride;
  const LaneOf<In>* end;
  std::int64_t end_stride;

  [[nodiscard]] HeldVectors from(int first) const {
    return {held + first * held_stride, held_stride, end + first * end_stride, end_stride};
  }
};

template <class In>
struct VectorKernels {
  using Sum = Accumulator<In>;
  using Lane = LaneOf<In>;

  /// x, elements of In, in the form that the others read: `terms` of them `stride` apart.
  void (*hold)(const void* x, std::int64_t stride, std::int64_t terms, Lane* held);
  /// Sums along lines: sums[j * vectors + i] = sum of w[j * w_stride + p] * x_i[p] over p < terms <= lane_block_terms.
  /// With one_by_one a line is read to its end before the next one, else some lines side by side; bits are the same.
  void (*along)(const In* w, std::int64_t w_stride, std::int64_t lines, std::int64_t terms, const HeldVectors<In>& x,
                int vectors, bool one_by_one, Sum* sums);
  /// One sum of neighbours, of any number of terms, block after block. Null for complex numbers, and where x has
  /// another type than w.
  Sum (*dot)(const In* w, const In* x, std::int64_t terms);
  /// Sums across lines: sums[i * columns + j] = sum of w[p * w_stride + j] * x_i[p], p < terms <= line_chunk_terms,
  /// j < columns <= across_columns(vectors). x_i begins at held + i * held_stride.
  void (*across)(const In* w, std::int64_t w_stride, std::int64_t columns, std::int64_t terms, const Lane* held,
                 std::int64_t held_stride, int vectors, Sum* sums);
  /// c[j] <- alpha * sums[j] + beta * c[j] for j < columns, as MicroKernels have it.
  void (*add_sums)(const Sum* sums, Sum* c, std::int64_t columns, Sum alpha, Sum beta);
};

/// Those of a W of bytes that meets bytes of the other sign.
template <class In>
[[nodiscard]] VectorKernels<In> with_vectors_of(VectorKernels<In> of_w, decltype(VectorKernels<In>::hold) hold) {
  of_w.hold = hold;
  of_w.dot = nullptr;
  return of_w;
}

template <class In>
const VectorKernels<In>& avx512_vectors();
template <class In>
const VectorKernels<In>& avx2_vectors();
template <class In>
const VectorKernels<In>& neon_vectors();

}  // namespace exactile::cpu
