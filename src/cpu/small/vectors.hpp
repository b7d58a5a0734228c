// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>

#include "cpu/micro/vector_kernels.hpp"
#include "cpu/model/cost.hpp"
#include "plan/kernel_entry.hpp"

namespace exactile::cpu {

/// Products with up to most_vectors_at_once rows or columns: the other operand is read once, in the direction in which
/// it lies contiguously, and is what the time goes into. Threads share its lines, or, where these are few, its terms,
/// whose blocks keep their sums apart until they are added in order. Strided vectors, and lines that are contiguous in
/// no direction, are copied a block at a time.
/// Traffic model: the lower bound, A, B and C once each.
template <class In>
[[nodiscard]] std::unique_ptr<plan::Executable> make_vectors(const plan::Problem& problem,
                                                             const VectorKernels<In>& kernels);
[[nodiscard]] std::string_view vectors_refuse(const plan::Problem& problem);
template <class In>
[[nodiscard]] Demand vectors_demand(const plan::Problem& problem, int vector_bytes);

}  // namespace exactile::cpu
