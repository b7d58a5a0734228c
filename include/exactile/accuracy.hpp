// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a product promises about its error. Accuracy belongs to the problem, not to the kernel.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace exactile {

/// u is the unit roundoff of the type that sums (see unit_roundoff()), gamma_K = K*u / (1 - K*u).
/// The bounds are those of N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 3.5.
/// They hold where the calling thread rounds to nearest and keeps subnormal numbers, as a program starts. The caller's
/// rounding mode and flush-to-zero flags are those of every thread of the processor that works for it: with another
/// rounding mode read 2u for u, and where subnormals are flushed each product and sum may lose another smallest normal
/// number. Exceptions that a worker meets do not show in the caller's flags. A GPU rounds to nearest whatever they say.
/// In every mode integers are exact modulo 2^w, NaN and Inf come out as the plain loop's (but see `reduced`), and the
/// bits that a kernel leaves do not depend on threads. Which kernel runs, and on which backend, may depend on how many
/// rows or products share a call, and bits on the kernel, but not under `correctly_rounded` or
/// GemmOptions::reproducible, and under `compensated` only on whether CUDA computes.
enum class Accuracy : std::uint8_t {
  /// Inputs may be rounded first (error_bound.hpp), f32 below 2^-136 to 0: Inf times it is NaN. Only where asked for.
  reduced,
  /// Componentwise |C^ - C| <= gamma_{K+3} (|alpha||A||B| + |beta C| + |bias|): the bound of the plain loop, with a
  /// rounding each for alpha, beta and bias. Complex: 2K + 4 for K + 3. The default.
  standard,
  /// |C^ - C| <= u|C| + gamma_{K+3}^2 (|alpha||A||B| + |beta C| + |bias|) with u of C's type, apart from underflow: as
  /// if summed in twice the working precision and rounded once. Complex: 2K + 4 for K + 3. No scales, no gelu.
  compensated,
  /// The exact alpha A B + beta C + bias, rounded once to nearest, ties to even: the same bytes from every kernel.
  /// alpha and beta are rounded first, to the type that sums. An exact zero is +0, an underflow keeps its sign, there
  /// is one NaN. No scales, no gelu; relu is that of the exact value.
  correctly_rounded,
};

[[nodiscard]] std::string_view to_string(Accuracy accuracy) noexcept;
[[nodiscard]] std::optional<Accuracy> parse_accuracy(std::string_view name) noexcept;

/// gamma_k = k*u / (1 - k*u); infinity where k*u >= 1.
[[nodiscard]] double gamma(std::int64_t k, double u) noexcept;

}  // namespace exactile
