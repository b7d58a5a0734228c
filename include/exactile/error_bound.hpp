// SPDX-License-Identifier: Apache-2.0
/// \file
/// The error bounds of the accuracies as numbers.
#pragma once

#include "exactile/accuracy.hpp"
#include "exactile/types.hpp"

namespace exactile {

/// What a mode allows beyond gamma_K: |C^ - C| <= (gamma_K + error_beyond_gamma()) |A||B|. 2v + v^2 with v = 2^-10 for
/// f32 under `reduced`: two factors rounded, up or down, to 11 bits, where |A||B| counts what is below 2^-126 as
/// 2^-126; for 8-bit floats what their sums may lose in tensor cores (docs/accuracy.md). 0 wherever gamma_K is all.
[[nodiscard]] double error_beyond_gamma(Accuracy accuracy, ElementType input) noexcept;

/// |C^ - C| <= of_result |C| + of_terms (|alpha||A||B| + |beta C| + |bias|), componentwise and apart from underflow,
/// where |A||B| is scaled as A and B are, and counts elements of narrow floats as docs/accuracy.md says.
struct AprioriBound {
  double of_result = 0;
  double of_terms = 0;
};

/// The bound of a product of k terms, the roundings of alpha, beta, bias and `scales` factors included. Activations are
/// not. Both numbers are 0 for integers.
[[nodiscard]] AprioriBound apriori_bound(Accuracy accuracy, GemmTypes types, std::int64_t k, int scales = 0) noexcept;

}  // namespace exactile
