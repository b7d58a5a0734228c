// SPDX-License-Identifier: Apache-2.0
/// \file A block on the diagonal of a triangular matrix: B <- alpha T B, alpha B T, or the same with T's inverse.
///
/// By the kernels of triangular_kernel.hpp: substitution and its bound, gamma_s |T| |X| of the residual.
#pragma once

#include "blas/level3.hpp"
#include "blas/triangular_kernel.hpp"

namespace exactile::blas {

/// A is the block, of `order` <= block_order, and T = op(A), whose lower or upper triangle is set; B has `others`
/// columns (left) or rows (right). Where what is no number comes out, B's part is done again element by element, with
/// the reference's way around zeros beside infinities. Between blocks a product spreads them, where the reference
/// passes over zeros of B.
template <class T>
void run_block(Task task, Side side, bool lower, Op op, Diagonal diagonal, Size order, Size others, T alpha,
               Columns<const T> a, Columns<T> b);

}  // namespace exactile::blas
