// SPDX-License-Identifier: Apache-2.0
/// \file
/// The round figures behind the CPU's cost estimates. They rank the CPU's kernels against each other; being wrong by a
/// half changes no ranking that matters, and nothing measured is derived from them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cpu/micro/tile.hpp"

namespace exactile::cpu {

inline constexpr double nominal_hertz = 4e9;
inline constexpr double bytes_per_second = 20e9;      ///< one core from memory
inline constexpr double pack_seconds = 0.1e-9;        ///< per byte packed
inline constexpr double tile_pack_seconds = 0.02e-9;  ///< the same where what is packed was asked for before

/// Two vector multiply-adds a cycle, or of kinds that take several instructions for one, fewer.
template <class K>
[[nodiscard]] double terms_per_second(const MicroKernels<K>& kernels) {
  return 2.0 * kernels.lanes * static_cast<double>(Elements<K>::group) / kernels.instructions * nominal_hertz;
}

/// Each operand once from memory, tile by tile; a stream of long rows takes half as long.
[[nodiscard]] inline double first_reads(double m, double n, double k, std::int64_t element_size) {
  return static_cast<double>(element_size) * (m * k + k * n + m * n) / bytes_per_second;
}

/// A thread is worth waking for about 2^22 terms (tens of microseconds).
[[nodiscard]] inline int useful_threads(double terms, std::int64_t parts, int most) {
  const auto limit = static_cast<double>(std::min<std::int64_t>(parts, most));
  return static_cast<int>(std::max(1.0, std::min(terms / 0x1p22, limit)));
}

}  // namespace exactile::cpu
