// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>

#include "cpu/model/cost.hpp"
#include "plan/kernel_entry.hpp"

namespace exactile::cpu {

/// The micro-kernel straight on the operands where they lie: no packing, no scratch, no dispatch per call beyond what a
/// plan has settled. For small products, batches of them, and products with few columns, where each element of B is
/// used so seldom, or found so near, that a packed copy would not pay.
///
/// Needs B's columns to be neighbours, A's rows or columns, and C's columns (or the same of the transposed product). A
/// small B that lies otherwise is copied to the stack first.
/// Traffic model: A once per panel of NR columns, B once per tile of MR rows, C once.
template <class T>
[[nodiscard]] std::unique_ptr<plan::Executable> make_direct(const plan::Problem& problem,
                                                            const MicroKernels<T>& kernels);
[[nodiscard]] std::string_view direct_refuses(const plan::Problem& problem);
template <class T>
[[nodiscard]] Demand direct_demand(const plan::Problem& problem, const MicroKernels<T>& kernels);

}  // namespace exactile::cpu
