// SPDX-License-Identifier: Apache-2.0
/// \file
/// Times of random products, for the coefficients of the cost model.
#pragma once

#include <random>

#include "exactile/plan.hpp"
#include "exactile/tuning.hpp"

namespace exactile::cuda::model {

/// Sizes log-uniform, m from 1 to 8192, n and k from 64 to 16384, 45 % of them rounded to multiples of 64 and 30 % of
/// 8, A by columns in a fifth and B in half, so many multiply-adds at most.
[[nodiscard]] GemmDescription draw_product(GemmTypes types, std::mt19937_64& dice);

/// The same, but one of m, n and k is from 1 to 8 in half of them, from 1 to 64 in the others.
[[nodiscard]] GemmDescription draw_thin_product(GemmTypes types, std::mt19937_64& dice);

/// A batch of rows times the weights of a layer of a network: m from 1 to 256, n and k multiples of 256 from 1024 to
/// 16384, B by columns.
[[nodiscard]] GemmDescription draw_weights(GemmTypes types, std::mt19937_64& dice);

/// Sizes log-uniform from 128 to 8192, not rounded: rows begin anywhere.
[[nodiscard]] GemmDescription draw_unaligned(GemmTypes types, std::mt19937_64& dice);

/// exactile::measure_device() for this backend.
[[nodiscard]] Result<Measurements> measure(const Measuring& measuring);

}  // namespace exactile::cuda::model
