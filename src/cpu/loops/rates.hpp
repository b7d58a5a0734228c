// SPDX-License-Identifier: Apache-2.0
/// \file
/// The round figures behind the CPU's cost estimates. They rank the CPU's kernels against each other; being wrong by a
/// half changes no ranking that matters, and nothing measured is derived from them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/checked.hpp"
#include "cpu/micro/amx.hpp"

namespace exactile::cpu {

inline constexpr double nominal_hertz = 4e9;
inline constexpr double bytes_per_second = 20e9;      ///< one core from memory
inline constexpr double pack_seconds = 0.1e-9;        ///< per byte packed
inline constexpr double tile_pack_seconds = 0.02e-9;  ///< the same where what is packed was asked for before

inline constexpr double meeting_seconds = 2e-6;  ///< until a team's threads have met

/// Vectors whose multiply-adds a cycle has room for. A tile instruction of AMX does those of 256 in 16 cycles.
template <class K>
inline constexpr double vectors_per_cycle = std::is_same_v<K, I8Tiles> || std::is_same_v<K, Bf16Tiles> ? 16 : 2;

/// Of kinds that take several instructions for a multiply-add, fewer.
template <class K>
[[nodiscard]] double terms_per_second(const MicroKernels<K>& kernels) {
  return vectors_per_cycle<K> * kernels.lanes * static_cast<double>(Elements<K>::group) / kernels.instructions *
         nominal_hertz;
}

/// Each operand once from memory, tile by tile; a stream of long rows takes half as long.
[[nodiscard]] inline double first_reads(double m, double n, double k, std::int64_t element_size) {
  return static_cast<double>(element_size) * (m * k + k * n + m * n) / bytes_per_second;
}

/// How much longer a team takes than its share of so many equal parts: some have one more than others.
[[nodiscard]] inline double unevenness(std::int64_t parts, int threads) {
  return static_cast<double>(core::round_up(parts, std::int64_t{threads})) / static_cast<double>(parts);
}

/// A thread is worth waking for about 2^22 terms (tens of microseconds).
[[nodiscard]] inline int useful_threads(double terms, std::int64_t parts, int most) {
  const auto limit = static_cast<double>(std::min<std::int64_t>(parts, most));
  return static_cast<int>(std::max(1.0, std::min(terms / 0x1p22, limit)));
}

}  // namespace exactile::cpu
