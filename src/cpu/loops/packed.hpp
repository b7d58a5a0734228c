// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "cpu/micro/tile.hpp"
#include "plan/kernel_entry.hpp"

namespace exactile::cpu {

/// Cache-blocked loops over packed panels, for any strides and any number of threads:
///
///     jc  columns of C by NC            a block of B that stays in L3
///      pc   terms by KC                 = chunk_terms; B is packed into panels of NR columns, by all threads together
///       ic    rows of C by MC           a block of A, packed into panels of MR rows, that stays in a thread's L2
///        jr     panels of B             stays in L1
///         ir      panels of A           the micro-kernel
///
/// After BLIS (Van Zee and van de Geijn, BLIS: A Framework for Rapidly Instantiating BLAS Functionality, 2015).
/// Traffic model: A once per NC columns, B once, C read and written once per KC terms.
template <class T>
[[nodiscard]] std::unique_ptr<plan::Executable> make_packed(const plan::Problem& problem,
                                                            const MicroKernels<T>& kernels);

template <class T>
[[nodiscard]] double packed_cost(const plan::Problem& problem, const MicroKernels<T>& kernels);

}  // namespace exactile::cpu
