// SPDX-License-Identifier: Apache-2.0
/// \file
/// What is done to each element x of alpha*A*B + beta*C before it is stored for the last time: activation(x + bias),
/// computed in the type that sums.
#pragma once

#include <cstdint>
#include <string_view>

namespace exactile {

enum class Activation : std::uint8_t {
  none,
  relu,  ///< max(x, 0); NaN stays NaN. Real and integer types.
  gelu,  ///< x * Phi(x) with the exact normal distribution function. Floating types.
};

enum class Bias : std::uint8_t {
  none,
  per_row,     ///< bias[i] is added to every element of row i; length m
  per_column,  ///< bias[j] is added to every element of column j; length n
};

[[nodiscard]] std::string_view to_string(Activation activation) noexcept;
[[nodiscard]] std::string_view to_string(Bias bias) noexcept;

}  // namespace exactile
