// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "plan/kernel_entry.hpp"

namespace exactile::cpu {

/// The product by `pairs` (Bf16Pairs) where its instruction, which takes subnormal numbers for zero, meets none; by
/// `widened` elsewhere, with the bits that pairs would have if they kept them. Which, is seen from the elements before
/// each run: products of numbers of exponents that add up to -112 or more are multiples of 2^-126, and so are their
/// sums.
[[nodiscard]] std::unique_ptr<plan::Executable> make_bf16(const plan::Problem& problem,
                                                          std::unique_ptr<plan::Executable> pairs,
                                                          std::unique_ptr<plan::Executable> widened);

}  // namespace exactile::cpu
