// SPDX-License-Identifier: Apache-2.0
/// \file A block on the diagonal of a triangular matrix: B <- alpha T B, alpha B T, or the same with T's inverse.
///
/// The block, made whole with zeros, or its inverse V meets a copy of B's part in one product: substitution would run
/// at a tenth of a product's speed. A product with V alone has |B - T X| <= gamma_(3s) |T| |V| |T| |V| |B|, s <= 32 the
/// block's order, where substitution has gamma_s |T| |X|; so the solution is improved once by V (B - T X), after which
/// the residual is substitution's but for a factor that does not grow with the block's condition, unless that reaches
/// 1/u (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., chapters 12 and 14).
#pragma once

#include "blas/level3.hpp"

namespace exactile::blas {

enum class Task : std::uint8_t { multiply, solve };

constexpr Size block_order = 32;

/// A is the block, of `order` <= block_order, and T = op(A), whose lower or upper triangle is set; B has `others`
/// columns (left) or rows (right). Where the product leaves what is no number, B's part is done again element by
/// element: zeros times infinities, and the inverse of a singular block, are not to spread within the block. Between
/// blocks a product spreads them, where the reference passes over zeros of B.
template <class T>
void run_block(Task task, Side side, bool lower, Op op, Diagonal diagonal, Size order, Size others, T alpha,
               Columns<const T> a, Columns<T> b);

}  // namespace exactile::blas
