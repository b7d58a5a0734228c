// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "cpu/micro/tile.hpp"
#include "plan/kernel_entry.hpp"

namespace exactile::cpu {

/// Cache-blocked loops over packed panels, for any strides and any number of threads:
///
///     ic  rows of C by MC           a block of A, packed into panels of MR rows by all threads together
///      pc   terms by KC             = chunk_terms
///       jc    columns of C by NC    a block of B, packed into panels of NR columns, that stays in a thread's L2
///        ir     panels of A         stays in L1
///         jr      panels of B       the micro-kernel; walks along the rows of C, as memory does
///
/// After BLIS (Van Zee and van de Geijn, BLIS: A Framework for Rapidly Instantiating BLAS Functionality, 2015).
/// Traffic model: A once, B once per MC rows, C read and written once per KC terms.
template <class T>
[[nodiscard]] std::unique_ptr<plan::Executable> make_packed(const plan::Problem& problem,
                                                            const MicroKernels<T>& kernels);

template <class T>
[[nodiscard]] double packed_cost(const plan::Problem& problem, const MicroKernels<T>& kernels);

}  // namespace exactile::cpu
