// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the packed loops and the micro-kernels multiply: the types of operands, of packed panels and of C, which need
/// not be the same.
#pragma once

#include <complex>
#include <cstdint>
#include <type_traits>

#include "core/checked.hpp"
#include "exactile/types.hpp"

namespace exactile::cpu {

/// A kind of product. A plain type is its own kind: operands are packed as they are, and C has their type.
template <class K>
struct Elements {
  using Input = K;  ///< of A and B
  using Lane = K;   ///< of a packed panel: `group` terms of one row or column
  using Sum = K;    ///< of C, alpha and beta
  static constexpr std::int64_t group = 1;
  /// Lanes behind the last of a packed row or column, which are where a micro-kernel's sums begin.
  static constexpr std::int64_t corrections = 0;
  /// Terms summed in one chain before they are added to C. The same for every kernel of a type: it is part of what the
  /// result is, not a tuning parameter. So many terms of a panel of A of 12 rows fill half of a 48 KiB L1 cache.
  static constexpr std::int64_t chunk_terms = 2048 / static_cast<std::int64_t>(sizeof(K));
};

/// A complex number is two of them in registers: the real part of A times both parts of B, and the imaginary part of A
/// times both, are real sums of their own, which meet at the end of a chunk.
template <class T>
struct Elements<std::complex<T>> {
  using Input = std::complex<T>;
  using Lane = std::complex<T>;
  using Sum = std::complex<T>;
  static constexpr std::int64_t group = 1;
  static constexpr std::int64_t corrections = 0;
  static constexpr std::int64_t chunk_terms = Elements<T>::chunk_terms;
};

/// bf16 by pairs of terms: the second product is added first, each is rounded (VDPBF16PS). Subnormal numbers count as
/// zero.
struct Bf16Pairs {};
template <>
struct Elements<Bf16Pairs> {
  using Input = BFloat16;
  using Lane = float;
  using Sum = float;
  static constexpr std::int64_t group = 2;
  static constexpr std::int64_t corrections = 0;
  static constexpr std::int64_t chunk_terms = 1024;
};

/// Numbers that become f32 as they are packed. Those of bf16 are exchanged by pairs, for the bits of Bf16Pairs.
template <class Narrow>
struct Widened {};
template <class Narrow>
struct Elements<Widened<Narrow>> {
  using Input = Narrow;
  using Lane = float;
  using Sum = float;
  static constexpr std::int64_t group = 1;
  static constexpr std::int64_t corrections = 0;
  static constexpr std::int64_t chunk_terms = std::is_same_v<Narrow, BFloat16> ? 1024 : 512;
};

/// Bytes with a sign or without one, by four terms: A without a sign times B with one (VPDPBUSD). Packing adds 128 to
/// an A that has a sign and takes 128 from a B that has none; ab = a'b' + 128 a' (B has none) - 128 b (A has one), and
/// what is beside a'b' are the corrections of rows and of columns. Input stands for u8, too.
struct I8Quads {};
template <>
struct Elements<I8Quads> {
  using Input = std::int8_t;
  using Lane = std::int32_t;
  using Sum = std::int32_t;
  static constexpr std::int64_t group = 4;
  static constexpr std::int64_t corrections = 1;
  static constexpr std::int64_t chunk_terms = 2048;
};

/// Bytes as pairs of i16 (VPMADDWD): without a carry, and exact. Input stands for u8, too.
struct I8Pairs {};
template <>
struct Elements<I8Pairs> {
  using Input = std::int8_t;
  using Lane = std::int32_t;
  using Sum = std::int32_t;
  static constexpr std::int64_t group = 2;
  static constexpr std::int64_t corrections = 0;
  static constexpr std::int64_t chunk_terms = 1024;
};

/// i16 by pairs of terms (VPMADDWD, or VPDPWSSD, which adds them too): exact modulo 2^32.
struct I16Pairs {};
template <>
struct Elements<I16Pairs> {
  using Input = std::int16_t;
  using Lane = std::int32_t;
  using Sum = std::int32_t;
  static constexpr std::int64_t group = 2;
  static constexpr std::int64_t corrections = 0;
  static constexpr std::int64_t chunk_terms = 1024;
};

/// i32 with sums of 64 bits: widened as they are packed, and multiplied by the lower halves of lanes (VPMULDQ).
struct I32Wide {};
template <>
struct Elements<I32Wide> {
  using Input = std::int32_t;
  using Lane = std::int64_t;
  using Sum = std::int64_t;
  static constexpr std::int64_t group = 1;
  static constexpr std::int64_t corrections = 0;
  static constexpr std::int64_t chunk_terms = 256;
};

template <class K>
using Input = typename Elements<K>::Input;
template <class K>
using Lane = typename Elements<K>::Lane;
template <class K>
using Sum = typename Elements<K>::Sum;
template <class K>
inline constexpr std::int64_t chunk_terms = Elements<K>::chunk_terms;

/// What registers hold of a lane, and how many of them: the parts of a complex number.
template <class Lane>
struct NumberOf {
  using type = Lane;
  static constexpr int parts = 1;
};
template <class T>
struct NumberOf<std::complex<T>> {
  using type = T;
  static constexpr int parts = 2;
};
template <class Lane>
using Number = typename NumberOf<Lane>::type;
template <class Lane>
inline constexpr int parts = NumberOf<Lane>::parts;

/// Whether micro-kernels can read operands where they lie.
template <class K>
inline constexpr bool reads_operands = std::is_same_v<Input<K>, Lane<K>>;

/// Lanes that so many terms of a row or column are packed into.
template <class K>
[[nodiscard]] constexpr std::int64_t lanes_of(std::int64_t terms) {
  return core::ceil_divide(terms, Elements<K>::group);
}

/// The same with what follows them.
template <class K>
[[nodiscard]] constexpr std::int64_t packed_lanes(std::int64_t terms) {
  return lanes_of<K>(terms) + Elements<K>::corrections * core::ceil_divide(terms, chunk_terms<K>);
}

/// Bytes of a packed term.
template <class K>
inline constexpr std::int64_t packed_size = static_cast<std::int64_t>(sizeof(Lane<K>)) / Elements<K>::group;

}  // namespace exactile::cpu
