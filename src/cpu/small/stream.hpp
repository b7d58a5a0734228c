// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>

#include "cpu/model/cost.hpp"
#include "plan/kernel_entry.hpp"

namespace exactile::cpu {

/// A handful of rows (up to MicroKernels::stream_rows) against a B that is read once, in long sequential streams, from
/// wherever it is: the vector-like shapes, bound by memory. Threads share the columns.
/// Traffic model: the lower bound, A, B and C once each.
template <class T>
[[nodiscard]] std::unique_ptr<plan::Executable> make_stream(const plan::Problem& problem,
                                                            const MicroKernels<T>& kernels);
template <class T>
[[nodiscard]] std::string_view stream_refuses(const plan::Problem& problem, const MicroKernels<T>& kernels);
template <class T>
[[nodiscard]] Demand stream_demand(const plan::Problem& problem, const MicroKernels<T>& kernels);

}  // namespace exactile::cpu
