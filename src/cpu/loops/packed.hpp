// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>

#include "cpu/model/cost.hpp"
#include "plan/kernel_entry.hpp"

namespace exactile::cpu {

/// Cache-blocked loops, for any strides and any number of threads:
///
///     ic  rows of C by MC           all of them where A's rows are read where they lie, or packed tile by tile for
///                                   each block of columns; else a block of A, packed into panels of MR rows by all
///                                   threads together (many: between row tiles of the block before), or tile by tile
///                                   with the first block of columns
///      pc   terms by KC             a chunk (see chunk_terms)
///       jc    columns of C by NC    a block of B, packed into panels of NR columns, that stays in a thread's L2
///        ir     tiles of MR rows    the first of a block packs B while it computes
///         jr      panels of B       the micro-kernel, chunk after chunk; walks along the rows of C, as memory does
///
/// After BLIS (Van Zee and van de Geijn, BLIS: A Framework for Rapidly Instantiating BLAS Functionality, 2015).
/// Traffic model: A once per NC columns (once in all where it is packed), B once per MC rows, C read and written once
/// per KC terms. `name` is what measured block sizes are filed under.
template <class K>
[[nodiscard]] std::unique_ptr<plan::Executable> make_packed(const plan::Problem& problem,
                                                            const MicroKernels<K>& kernels, std::string_view name);

/// Objects to parameters only.
template <class K>
[[nodiscard]] std::string_view packed_refuses(const plan::Problem& problem, const MicroKernels<K>& kernels);

template <class K>
[[nodiscard]] Demand packed_demand(const plan::Problem& problem, const MicroKernels<K>& kernels);

}  // namespace exactile::cpu
