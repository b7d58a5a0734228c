// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>

#include "cpu/model/cost.hpp"
#include "plan/kernel_entry.hpp"

namespace exactile::cpu {

/// Deep and thin products, whose C is too small to be shared out: threads take chunks of K instead, each chunk's sums
/// go to a place of their own, and all are then added to C in the order of the chunks. That is the order of every other
/// kernel, so the bits are theirs too. One thread alone updates C itself, chunk by chunk. Operands that micro-kernels
/// cannot read where they lie are packed a chunk at a time.
/// Traffic model: A and B once, C once for each chunk, written and read.
template <class K>
[[nodiscard]] std::unique_ptr<plan::Executable> make_deep(const plan::Problem& problem, const MicroKernels<K>& kernels);
template <class K>
[[nodiscard]] std::string_view deep_refuses(const plan::Problem& problem, const MicroKernels<K>& kernels);
template <class K>
[[nodiscard]] Demand deep_demand(const plan::Problem& problem, const MicroKernels<K>& kernels);

}  // namespace exactile::cpu
