// SPDX-License-Identifier: Apache-2.0
/// \file What the tile registers of AMX multiply, and the micro-kernels that do it. They need amx_is_permitted().
#pragma once

#include "cpu/micro/tile.hpp"

namespace exactile::cpu {

/// Bytes by four terms (TDPBSSD, and TDPBSUD, TDPBUSD, TDPBUUD where A or B has no sign). So many terms leave a tile's
/// rows of A in L1 beside what passes of B.
struct I8Tiles {};
template <>
struct Elements<I8Tiles> {
  using Input = std::int8_t;
  using Lane = std::int32_t;
  using Sum = std::int32_t;
  static constexpr std::int64_t group = 4;
  static constexpr std::int64_t corrections = 0;
  static constexpr std::int64_t chunk_terms = 1024;
};

/// bf16 by sixteen pairs of terms (TDPBF16PS): the even ones' products are added from zero, and the odd ones', then
/// both together, then their sum to that of the pairs before. Subnormal numbers count as zero, and all is rounded to
/// nearest: behind the last of a panel of A or B lies the smallest exponent in it, from which micro-kernels see where
/// they must take multiply-adds for the same sums. Of an A in place TileShape tells it.
struct Bf16Tiles {};
template <>
struct Elements<Bf16Tiles> {
  using Input = BFloat16;
  using Lane = float;
  using Sum = float;
  static constexpr std::int64_t group = 2;
  static constexpr std::int64_t corrections = 1;
  static constexpr std::int64_t chunk_terms = 512;
};

/// Kinds whose rows of A tile registers load one by one, wherever they lie.
template <class K>
inline constexpr bool in_tile_registers = std::is_same_v<K, I8Tiles> || std::is_same_v<K, Bf16Tiles>;

/// Of A and B of bytes, i8 or u8 each.
const MicroKernels<I8Tiles>& amx_bytes(ElementType a, ElementType b);
const MicroKernels<Bf16Tiles>& amx_bf16();

/// Lets go of the registers that this thread's tiles left configured.
void amx_release();

/// After a thread's last tile of a product.
template <class K>
void release_registers() {
#if defined(__x86_64__)
  if constexpr (in_tile_registers<K>) amx_release();
#endif
}

}  // namespace exactile::cpu
