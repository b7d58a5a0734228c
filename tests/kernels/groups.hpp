// SPDX-License-Identifier: Apache-2.0
/// \file
/// The groups of cases every kernel goes through with every type it has.
#pragma once

#include "support/check_case.hpp"

namespace exactile::test {

/// Shape classes: 0, 1, around the kernel's own tiles and around everybody's, primes, deep-thin, shallow-wide, vectors.
[[nodiscard]] Tally check_shapes(const KernelOfType& kernel);
/// k around the usual and the kernel's own depth of a block.
[[nodiscard]] Tally check_depths(const KernelOfType& kernel);
/// Padding, transposes, submatrices, negative and zero strides; C column-major and with gaps in both directions.
[[nodiscard]] Tally check_layouts(const KernelOfType& kernel);
/// Conjugated operands, of complex kernels that take them.
[[nodiscard]] Tally check_conjugates(const KernelOfType& kernel);
/// alpha and beta.
[[nodiscard]] Tally check_scalars(const KernelOfType& kernel);
/// Bias and activation.
[[nodiscard]] Tally check_epilogues(const KernelOfType& kernel);
/// Scales of rows and columns, alone and with all else that follows the sums.
[[nodiscard]] Tally check_scales(const KernelOfType& kernel);
/// Strided, broadcast and pointer-array batches.
[[nodiscard]] Tally check_batches(const KernelOfType& kernel);
/// Every fill the type has, on shapes that leave remainders everywhere.
[[nodiscard]] Tally check_fills(const KernelOfType& kernel);
/// (1..17)^3.
[[nodiscard]] Tally check_tiny(const KernelOfType& kernel);

}  // namespace exactile::test
