// SPDX-License-Identifier: Apache-2.0
/// \file Rounding of finished sums, free of any instruction set.
#pragma once

#include <cstdint>

#include "exactile/types.hpp"

namespace exactile::cpu {

/// to[i] <- from[i] rounded to nearest, ties to even, for i < count.
void avx512_round(const float* from, std::int64_t count, BFloat16* to);
void avx512_round(const float* from, std::int64_t count, Float16* to);
void avx2_round(const float* from, std::int64_t count, BFloat16* to);
void avx2_round(const float* from, std::int64_t count, Float16* to);
void neon_round(const float* from, std::int64_t count, BFloat16* to);
void neon_round(const float* from, std::int64_t count, Float16* to);

}  // namespace exactile::cpu
