// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "exactile/plan.hpp"

namespace exactile::plan {

/// Everything that can be said about a description before a kernel is looked for: sizes, strides, 64-bit reach, types,
/// epilogue, accuracy, threads. Each refusal names the argument, its value and what was expected.
[[nodiscard]] Status validate(const GemmDescription& description, const GemmOptions& options);

/// Factors that the type cannot be multiplied with: complex ones of real types, fractions of integers.
[[nodiscard]] Status check_factors(ElementType type, const Scalar& alpha, const Scalar& beta);

}  // namespace exactile::plan
