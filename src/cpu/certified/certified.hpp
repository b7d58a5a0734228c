// SPDX-License-Identifier: Apache-2.0
/// \file
/// Products that keep Accuracy::compensated and Accuracy::correctly_rounded: sums of f64 whose error is bounded element
/// by element. Where the bound leaves no doubt how the exact sum rounds, it is rounded (A. Ziv, 1991); where it does,
/// the row of the tile is summed again by windows of bits, without an error. docs/accuracy-proofs.md has the bounds.
#pragma once

#include "cpu/certified/kernels.hpp"
#include "plan/kernel_entry.hpp"

namespace exactile::cpu {

/// With k = 0 it computes C <- activation(beta * C + bias).
[[nodiscard]] std::unique_ptr<plan::Executable> make_certified(const plan::Problem& problem,
                                                               const CertifiedKernels& kernels);
[[nodiscard]] std::string_view certified_refuses(const plan::Problem& problem);
[[nodiscard]] double certified_cost(const plan::Problem& problem, const CertifiedKernels& kernels);

}  // namespace exactile::cpu
