// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>

#include "cpu/model/cost.hpp"
#include "plan/kernel_entry.hpp"

namespace exactile::cpu {

/// Small products, and batches of them, of kinds whose operands are always packed: all of B packed
/// into the nearest caches, then A, row tile by row tile. Threads share the products of a batch.
/// Traffic model: A, B and C once each.
template <class K>
[[nodiscard]] std::unique_ptr<plan::Executable> make_near(const plan::Problem& problem, const MicroKernels<K>& kernels);
template <class K>
[[nodiscard]] std::string_view near_refuses(const plan::Problem& problem, const MicroKernels<K>& kernels);
template <class K>
[[nodiscard]] Demand near_demand(const plan::Problem& problem, const MicroKernels<K>& kernels);

}  // namespace exactile::cpu
